"""The functions that a text may call, by the names that Spark 3.5 has for them.

In are built-in functions whose value is settled by what they are called with. Out are those that reach
beyond the row (reflection, files, the session, the clock, chance), that fail on purpose, and as evidence
also those whose value depends on the order in which rows come:

    first, last, any_value, collect_list, array_agg …    whichever row comes first
    max_by, min_by, mode                                 whichever comes first among equals
    row_number, ntile, lag, lead, nth_value …            the same, within a window
    stddev, variance, corr, regr_slope …, percentile_approx, histogram_numeric
                                                         sums of floating-point numbers; sketches

`sum` and `avg` are in, and refused by their type on Spark where they add floating-point numbers. `xpath` and
`aes_decrypt` are out: nobody indexes by them, and they are large.
"""

from __future__ import annotations

__all__ = ["AGGREGATES", "GENERATORS", "SCALARS", "TYPES", "WINDOW_FUNCTIONS", "reason_against"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SCALARS = _words(
    """
    isnan isnotnull isnull like ilike regexp regexp_like rlike
    abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot csc degrees div
    e exp expm1 factorial floor greatest hex hypot least ln log log10 log1p log2 mod negative pi pmod positive
    pow power radians rint round sec shiftleft sign signum sin sinh sqrt tan tanh try_add try_divide
    try_multiply try_subtract unhex width_bucket
    bit_count bit_get getbit shiftright shiftrightunsigned
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
    date_trunc dateadd datediff datepart day dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month months_between next_day quarter second
    timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff to_date to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_to_timestamp unix_date
    unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year
    bitmap_bit_position bitmap_bucket_number bitmap_count equal_null typeof
    aggregate array_sort exists filter forall map_filter map_zip_with reduce transform transform_keys
    transform_values zip_with
    array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_repeat array_union
    arrays_overlap arrays_zip flatten get sequence slice sort_array array_size cardinality concat reverse size
    ascii base64 bit_length btrim char char_length character_length chr concat_ws contains decode elt encode
    endswith find_in_set format_number format_string initcap instr lcase left len length levenshtein locate
    lower lpad ltrim luhn_check mask octet_length overlay position printf regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace right rpad rtrim sentences
    soundex space split split_part startswith substr substring substring_index to_binary to_char to_number
    to_varchar translate trim try_to_binary try_to_number ucase unbase64 upper
    bigint binary boolean cast date decimal double float int smallint string timestamp tinyint try_cast
    coalesce if ifnull nanvl nullif nvl nvl2
    crc32 hash md5 sha sha1 sha2 xxhash64
    element_at map map_concat map_contains_key map_entries map_from_arrays map_from_entries map_keys
    map_values str_to_map try_element_at
    from_csv schema_of_csv to_csv
    from_json get_json_object json_array_length json_object_keys schema_of_json to_json
    named_struct struct
    parse_url url_decode url_encode
    """
)
"""One value of one row."""

AGGREGATES = _words(
    """
    any approx_count_distinct avg bit_and bit_or bit_xor bool_and bool_or count count_if every grouping
    grouping_id max mean median min percentile percentile_cont percentile_disc regr_count some sum try_avg
    try_sum
    """
)
"""One value of many rows, whatever their order."""

WINDOW_FUNCTIONS = _words("cume_dist dense_rank percent_rank rank")
"""One value of a row among others, the same for equals."""

GENERATORS = _words("explode explode_outer posexplode posexplode_outer")
"""Several rows of one: those of an array or map, nothing else."""

TYPES = _words("char character dec decimal numeric varchar")
"""Types that are written with brackets."""

_BY_ORDER = _words(
    """
    any_value approx_percentile array_agg collect_list collect_set corr count_min_sketch covar_pop covar_samp
    first first_value group_concat histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value
    listagg max_by min_by mode percentile_approx regr_avgx regr_avgy regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy skewness std stddev stddev_pop stddev_samp string_agg var_pop var_samp variance
    bitmap_construct_agg bitmap_or_agg
    """
)
_WINDOW_BY_ORDER = _words("lag lead nth_value ntile row_number")
_SEVERAL_ROWS = _words("inline inline_outer json_tuple stack")
_UNSTABLE = _words(
    """
    aes_encrypt curdate current_catalog current_database current_date current_schema current_time
    current_timestamp current_timezone current_user input_file_block_length input_file_block_start
    input_file_name java_method localtimestamp monotonically_increasing_id now rand randn random randstr
    reflect session_user shuffle spark_partition_id try_reflect uniform user uuid version
    """
)
_KINDS = (
    (AGGREGATES | _BY_ORDER, "is an aggregate function, whose value belongs to many rows"),
    (WINDOW_FUNCTIONS | _WINDOW_BY_ORDER, "is a window function, whose value depends on other rows"),
    (GENERATORS | _SEVERAL_ROWS, "makes several rows out of one"),
)


def reason_against(name: str, *, in_query: bool) -> str | None:
    """Why a text may not call a function; None if it may.

    Args:
        name: As written.
        in_query: Whether it stands in a whole query, which may aggregate, and not in a condition.
    """
    plain = name.lower()
    if plain in SCALARS or plain in TYPES:
        return None
    if plain in _UNSTABLE:
        return f"{name} does not always give the same value for the same row"
    if not in_query:
        for names, reason in _KINDS:
            if plain in names:
                return f"{name} {reason}"
    elif plain in AGGREGATES | WINDOW_FUNCTIONS | GENERATORS:
        return None
    elif plain in _BY_ORDER | _WINDOW_BY_ORDER:
        return f"{name} gives another value when rows come in another order"
    return f"{name} is none of the built-in functions of Spark that a text may call"
