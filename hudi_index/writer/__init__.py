"""What a writer needs that finds records through an index, as RFC-102 describes it. No Spark here.

options    what Hudi's writer is told, and what it must not be told
fit        which tables can be written so
tagger     rows to the places where their records stand; runs in workers
since      whether a table is still as it was looked at
batches    which batches a table holds already
lease      one process per writer
"""
