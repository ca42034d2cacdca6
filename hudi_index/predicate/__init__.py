"""What a query asks, in pure Python: expressions, their parsing and binding, normal form, domains.

    text --parser--> expression --binding--> bound expression --normalize--> no NOT --domains--> tree
    Catalyst's tree ------catalyst---------> bound expression

A bound expression knows its columns' types; an unknown column is an error here, never silence further up.
NOT is pushed to the leaves by operator before any domain exists: under SQL's three values a domain has no
complement. Meaning is Spark's (3.5, ANSI mode off); what isn't certain is Unknown, which refutes nothing.
"""

from hudi_index.predicate.binding import bind, bind_expression, with_expressions
from hudi_index.predicate.calendar import CALENDAR_SETTINGS, Calendar
from hudi_index.predicate.catalyst.meaning import Meaning
from hudi_index.predicate.catalyst.reader import Filters
from hudi_index.predicate.constraints import constraints_of, tree_of
from hudi_index.predicate.expression import BoundTerm, Unknown
from hudi_index.predicate.expression_domains import Derivation, derivation_of
from hudi_index.predicate.session import Session
from hudi_index.predicate.sql.parser import parse_predicate
from hudi_index.predicate.tree import (
    AllOf,
    Always,
    AnyOf,
    Leaf,
    Never,
    Tree,
    admits,
    all_of,
    any_of,
    fold,
    is_exact,
    leaves_of,
    tree_of_domains,
)
from hudi_index.predicate.values.condition import Constraint, HasElement, Term, TextPattern
from hudi_index.predicate.values.domain import Bound, ColumnDomain, Domain, Marker, Range
from hudi_index.predicate.values.types import Schema, SqlType, parse_type

__all__ = [
    "CALENDAR_SETTINGS",
    "AllOf",
    "Always",
    "AnyOf",
    "Bound",
    "BoundTerm",
    "Calendar",
    "ColumnDomain",
    "Constraint",
    "Derivation",
    "Domain",
    "Filters",
    "HasElement",
    "Leaf",
    "Marker",
    "Meaning",
    "Never",
    "Range",
    "Schema",
    "Session",
    "SqlType",
    "Term",
    "TextPattern",
    "Tree",
    "Unknown",
    "admits",
    "all_of",
    "any_of",
    "bind",
    "bind_expression",
    "constraints_of",
    "derivation_of",
    "fold",
    "is_exact",
    "leaves_of",
    "parse_predicate",
    "parse_type",
    "tree_of",
    "tree_of_domains",
    "with_expressions",
]
