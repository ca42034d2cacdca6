"""What kinds of index are made of: their protocol, and parts that several share.

protocol      what a kind is, and what it is asked
source        the column or expression that an index is over
values        rows as parts of keys
ranges        a condition as ranges of keys
columns       kinds with an entry per file group and column
bitmaps       kinds with an entry per file group and token
numbers       kinds with an entry per row, whose keys end with the file group's number
statistics    minimum, maximum and counts; `computed` makes them
diff          what changed between two descriptions of a slice
"""
