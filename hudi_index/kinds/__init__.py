"""What each kind of index knows about a file group, and which predicates that refutes.

A kind does no I/O: it turns rows into entries, and entries into the set of file groups that are proven to
hold no matching row. What it can't answer it does not refute. Kinds do not know each other.
"""
