"""Conditions that engines, Arrow and Spark see with different eyes, in the words of DuckDB.

One per line; an engine that has no words for one leaves it out.
"""

from __future__ import annotations

__all__ = ["HOSTILE"]

HOSTILE = r"""
n = 7
n = 3000000000
n = -1
n > 2147483647
n < -2147483648
n = 7.5
n = 1e0
n >= 6.999999999999
n IN (1,2,3,4,5,6,7,8,9,10)
n NOT IN (1,2,3,4,5,6,7,8,9,10)
n IN (7, NULL) IS NULL
CAST(n AS TINYINT) = 7
TRY_CAST(n AS TINYINT) = 7
TRY_CAST(n AS SMALLINT) IS NULL
CAST(n AS VARCHAR) = '7'
CAST(n AS BOOLEAN)
CAST(n AS DECIMAL(20,5)) = 7
n::HUGEINT = 7
n = '7'
n = 7::UTINYINT
n = 7::UBIGINT
n = -1::TINYINT
n::UBIGINT = 7
l = 9223372036854775807
l > 9223372036854775806
l >= 9223372036854775808
l = -9223372036854775808
l = 9007199254740993.0
l = 9007199254740992::DOUBLE
CAST(l AS DOUBLE) = 9007199254740992
l::FLOAT = 1
l = 1.0::REAL
l IN (9007199254740992, 9007199254740993)
l BETWEEN 0 AND 9007199254740992
l = n
l > n
l IS DISTINCT FROM n
f = 'NaN'::DOUBLE
f > 'NaN'::DOUBLE
f >= 'NaN'::DOUBLE
f < 'NaN'::DOUBLE
f <> 'NaN'::DOUBLE
f IN ('NaN'::DOUBLE, 0)
f NOT IN ('NaN'::DOUBLE, 0)
isnan(f)
NOT isnan(f)
isinf(f)
isfinite(f)
f = 'inf'::DOUBLE
f >= 'inf'::DOUBLE
f <= '-inf'::DOUBLE
f > 1e300
f = 0.1
f = 0.1::REAL
f::REAL = 0.1::REAL
f IN (0.0, -0.0)
f = -0.0
f > -0.0
f >= -0.0
f < 0.0
f <= 0.0
f BETWEEN -0.0 AND 0.0
abs(f) = 0
f IS DISTINCT FROM 0
f IS NOT DISTINCT FROM 'NaN'::DOUBLE
f = r
f < r
coalesce(f, 'NaN'::DOUBLE) > 1
f != f
NOT (f = f)
NOT (f < 1)
NOT (f >= 1)
(f < 1) IS NULL
(f < 1) IS NOT TRUE
r = 0.1
r = 0.1::REAL
r = 0.1::DOUBLE
r IN (0.1, 0.2)
r IN (0.1::REAL, 0.2::REAL)
r NOT IN (0.1)
r = 16777217
r = 16777216
r > 16777216
r >= 16777217
r < 1.5
r <= 1.5
r = 'NaN'::REAL
r > 1
r != 1.5
r BETWEEN 0.1 AND 1.5
r::DOUBLE = 0.1
r::DOUBLE IN (0.1, 1.5)
r::DOUBLE < 0.1
r::DOUBLE > 0.1
s = ''
s > ''
s >= 'a'
s < 'ä'
s > 'z'
s = 'ä'
s = '😀'
s > '😀'
s IN ('', 'null')
s IN ('a', NULL)
s NOT IN ('a')
s NOT IN ('a', NULL)
s LIKE 'a%'
s LIKE '%a'
s LIKE '_'
s LIKE 'a\_b' ESCAPE '\'
s LIKE 'z\%'
s LIKE '%%'
s NOT LIKE 'a%'
s ILIKE 'A%'
starts_with(s, 'a')
starts_with(s, '')
prefix(s,'a')
contains(s, 'b')
ends_with(s,'b')
suffix(s,'b')
regexp_matches(s,'^a')
s SIMILAR TO 'a.*'
length(s) = 1
upper(s) = 'A'
s || 'x' = 'ax'
s = city
s < city
s IS DISTINCT FROM 'a'
s IS NOT DISTINCT FROM NULL
coalesce(s, 'a') = 'a'
nullif(s,'a') IS NULL
s BETWEEN 'a' AND 'b'
s BETWEEN 'A' AND 'a'
s COLLATE NOCASE = 'A'
substr(s,1,1)='a'
s[1] = 'a'
s >= 'a' AND s < 'b'
s = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
s > 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
b = true
b = false
b <> true
b IS TRUE
b IS NOT TRUE
b IS FALSE
b IS NOT FALSE
b > false
b < true
b IN (true)
b IN (true, NULL)
NOT b
b AND NOT b
b OR NOT b
b = (n = 7)
CASE WHEN b THEN n = 7 ELSE n = 1 END
CASE WHEN b THEN 1 ELSE 0 END = 1
if(b, n, l) = 1
b XOR true
b::INT = 1
xor(n,7) = 0
day = DATE '1582-10-14'
day < DATE '1582-10-15'
day <= DATE '1582-10-14'
day = DATE '9999-12-31'
day > DATE '9999-12-30'
day = TIMESTAMP '1970-01-01 00:00:00'
day < TIMESTAMP '1970-01-01 00:00:01'
day = '1970-01-01'
day IN (DATE '1969-12-31', DATE '2024-02-29')
CAST(day AS TIMESTAMP) = TIMESTAMP '1970-01-01'
year(day) = 1970
day + 1 = DATE '1970-01-01'
date_trunc('month', day) = DATE '1970-01-01'
day > DATE '0001-01-01'
day = 'infinity'::DATE
day < 'infinity'::DATE
day BETWEEN DATE '1582-10-04' AND DATE '1582-10-15'
day >= TIMESTAMPTZ '1970-01-01 00:00:00+00'
ts = TIMESTAMPTZ '1970-01-01 00:00:00+00'
ts = TIMESTAMPTZ '2024-10-27 01:30:00+00'
ts = TIMESTAMP '2024-10-26 21:30:00'
ts < TIMESTAMP '1970-01-01 00:00:00'
ts > '2024-01-01'
ts >= DATE '1970-01-01'
ts IN (TIMESTAMPTZ '1970-01-01 00:00:00+00')
ts::DATE = DATE '1969-12-31'
ts::TIMESTAMP = TIMESTAMP '1969-12-31 19:00:00'
ts BETWEEN '1969-12-31 23:59:59.999999+00' AND '1970-01-01 00:00:00+00'
ts < 'infinity'::TIMESTAMPTZ
date_trunc('hour', ts) = TIMESTAMPTZ '2024-10-27 01:00:00+00'
ts = local
ts::TIMESTAMP = local
ts > '1969-12-31 23:59:59.9999995+00'
extract(epoch FROM ts) = 0
ts IS DISTINCT FROM TIMESTAMPTZ '1970-01-01 00:00:00+00'
local = TIMESTAMP '1970-01-01'
local = TIMESTAMP_NS '1970-01-01 00:00:00'
local < TIMESTAMP_NS '1970-01-01 00:00:00.000000001'
local = TIMESTAMP_S '1970-01-01'
local > DATE '1969-12-31'
local::DATE = DATE '1970-01-01'
local = TIMESTAMPTZ '1970-01-01 00:00:00+00'
local >= '1970-01-01'
local::TIME = TIME '00:00:00'
d = 1.5
d = 1.50
d = 1.500
d = 1.505
d > 1.505
d >= 1.495
d = 99999999.99
d > 99999999.98
d = 1e308
d = 1.5::DOUBLE
d::DOUBLE = 1.5
d::REAL = 1.5
d::DECIMAL(5,1) = 1.5
d::INT = 2
d IN (1.5, -0.01)
d NOT IN (1.5)
d > n
d = 0
d < 0
d = -0.01
d BETWEEN -0.01 AND 1.5
-d = 0.01
d = '1.50'
d > 12345678901234567890.5
d::DECIMAL(38,2) = 1.5
big = 9999999999999999999999999999.9999999999
big > 9999999999999999999999999999
big = 1.5
big = 1.5::DOUBLE
big < 0
big = -0.0000000001
big IN (1.5, 0)
big > 1e10
big >= d
big = n
big::DOUBLE > 1e27
big = 1.50000000000001
big > 170141183460469231731687303715884105727
raw = 'a'::BLOB
raw = '\xFF\xFE'::BLOB
raw > 'a'::BLOB
raw >= '\x00'::BLOB
raw = ''::BLOB
raw IN ('a'::BLOB, ''::BLOB)
raw < '\x01'::BLOB
octet_length(raw) = 0
raw = X'FFFE'
raw > X'00'
raw IS NULL
seat.row = 7
seat.row IS NULL
seat.row > 0
seat.row IN (1, 7)
NOT (seat.row = 7)
seat IS NULL
seat IS NOT NULL
seat.letter = 'rome'
seat.letter LIKE 'r%'
seat.row = n
seat.row IS DISTINCT FROM 7
(seat).row = 7
seat['row'] = 7
seat = {'row': 7, 'letter': 'rome'}
struct_extract(seat,'row') = 1
seat.row IS NULL AND seat IS NOT NULL
seat.row = 7 OR seat IS NULL
tags IS NULL
list_contains(tags, 'rome')
'rome' = ANY(tags)
tags[1] = 'a'
tags = ['a','rome']
len(tags) = 2
array_has(tags,'rome')
tags[2] IS NULL
list_has_any(tags, ['rome'])
id = '00000'
id IN ('00000','00100')
id LIKE '001%'
id > '009'
n = 7 AND city = 'rome' OR b AND NOT (f > 1)
(n = 7) = (city = 'rome')
(n = 7) <> b
n = (SELECT max(n) FROM t)
n IN (SELECT n FROM t WHERE b)
EXISTS (SELECT 1 FROM t u WHERE u.n = t.n AND u.id <> t.id)
true
false
NULL
NULL = 1
n = n
n <> n
1 = 1
1 = 0 OR n = 7
coalesce(b, n = 7)
coalesce(NULL, n) = 7
greatest(n, 7) = 7
least(n, l) = 0
n % 7 = 0
-n = 1
n + l > 0
n * 2 = 14
n & 1 = 1
abs(n) = 1
n IS NOT DISTINCT FROM seat.row
city = 'paris' AND city = 'rome'
city IN ('paris') AND city NOT IN ('paris')
NOT (city = 'paris' AND b)
NOT (city = 'paris' OR b IS NULL)
NOT (n BETWEEN 0 AND 7)
n BETWEEN 7 AND 0
n BETWEEN NULL AND 7
NOT (n BETWEEN NULL AND 0)
""".strip().split("\n")
