"""Which expressions no index can be over, as far as the text tells.

An index keeps a value per row, so that value must come from the row alone and be the same at each look.
Refused are subqueries, aggregate, window and generator functions, parameters, and functions that ask the
clock, the session, the machine or chance. The names are Spark's built-in functions; what only Spark knows
(functions of the user) passes here and is judged by Spark's analysis when the index is built.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp

from hudi_index.errors import UnsupportedExpressionError
from hudi_index.predicate.tokens import is_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_functions", "refuse_nodes"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AGGREGATES = _words(
    """
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor
    bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if
    count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric
    hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by mean median min min_by mode
    percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg
    sum try_avg try_sum var_pop var_samp variance
    """
)
_WINDOW_FUNCTIONS = _words("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number")
_GENERATORS = _words("explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack")
_UNSTABLE = _words(
    """
    aes_encrypt curdate current_catalog current_database current_date current_schema current_time
    current_timestamp current_timezone current_user input_file_block_length input_file_block_start
    input_file_name java_method localtimestamp monotonically_increasing_id now rand randn random randstr
    reflect session_user shuffle spark_partition_id try_reflect uniform user uuid version
    """
)
_REASONS = (
    (_AGGREGATES, "is an aggregate function, whose value belongs to many rows"),
    (_WINDOW_FUNCTIONS, "is a window function, whose value depends on other rows"),
    (_GENERATORS, "makes several rows out of one"),
    (_UNSTABLE, "does not always give the same value for the same row"),
)
# What sqlglot makes of these words without brackets, and of unix_timestamp() without arguments.
_UNSTABLE_NODES = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentUser, exp.SessionUser)


def refuse_functions(text: str, tokens: Sequence[Token], source: str) -> None:
    """Raise UnsupportedExpressionError if a function is called that an index can't keep."""
    before = None
    for token, following in pairwise(tokens):
        is_call = following.token_type == TokenType.L_PAREN and is_name(token, text)
        # LIKE ANY (…) and LIKE SOME (…) are no calls.
        if is_call and before not in (TokenType.LIKE, TokenType.ILIKE):
            for names, reason in _REASONS:
                if token.text.lower() in names:
                    raise UnsupportedExpressionError(expression=source, reason=f"{token.text} {reason}")
        before = token.token_type


def refuse_nodes(tree: exp.Expr, source: str) -> None:
    """Raise UnsupportedExpressionError if a part of the tree is no value of one row."""
    for node in tree.walk():
        reason = _reason_against(node)
        if reason:
            raise UnsupportedExpressionError(expression=source, reason=reason)


def _reason_against(node: exp.Expr) -> str | None:
    if isinstance(node, (exp.Query, exp.Values)):
        return "it holds a subquery"
    if isinstance(node, exp.Window):
        return "it holds a window, whose value depends on other rows"
    if isinstance(node, exp.AggFunc):
        return "it holds an aggregate function, whose value belongs to many rows"
    if isinstance(node, _UNSTABLE_NODES):
        name = type(node).sql_names()[0].lower()
        return (
            f"{name} does not always give the same value for the same row; "
            "if a column is meant, write its name in back-quotes"
        )
    if isinstance(node, (exp.Star, exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        return "it holds a star or a parameter, which is no value of a row"
    return None
