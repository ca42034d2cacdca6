"""Which file groups a query has to read.

A file group is covered when its current slice is exactly the one that the indexes describe. Only covered
file groups can be refuted; everything else is read. Refuted sets compose here and nowhere else: AND is
union, OR is intersection, an unanswered leaf is empty.
"""
