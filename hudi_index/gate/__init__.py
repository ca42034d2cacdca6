"""The gate: what a text that somebody gives may do is to ask the rows of its table, and nothing else.

Texts come as parameters of a run: queries and conditions to validate with, predicates, index expressions.
Each is allowed by its structure or refused, with RefusedTextError naming what was found and the way out. The
names of functions are Spark's; a text that Spark and sqlglot might read differently is refused as well.

    functions    which may be called
    lexing       strings, names and comments, as Spark sees them
    words        calls by name
    structure    queries and conditions

What passes is checked again on Spark, as the plan that it becomes: `hudi_index.spark.catalyst.gate`.
"""

from hudi_index.gate.structure import check_condition, check_query
from hudi_index.gate.words import ONE_SELECT, ONE_VALUE, ONLY_THESE

__all__ = ["ONE_SELECT", "ONE_VALUE", "ONLY_THESE", "check_condition", "check_query"]
