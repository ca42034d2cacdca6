"""Why no row is lost: which slice of each file group the indexes describe, and which of those are current.

An index may only refute a file group that is covered: whose current slice is the very one that `files` notes.
Everything else is read.

    files         the `files` partition: what is noted of an indexed slice
    identities    what slices are compared by, as columns
    covered       the file groups of a snapshot that the indexes describe
"""
