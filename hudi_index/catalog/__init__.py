"""Which indexes a table has: definitions, their states, and the SQL that changes them.

definition    one index as a value; `options` has the table of its options
snapshot      all indexes of a table at one generation, and their file
catalog       load and change them, by any number of processes at once
ddl           SQL text to statements; `expression` judges what an index may be over
"""

from hudi_index.catalog.catalog import Catalog
from hudi_index.catalog.ddl import (
    CreateIndex,
    DropIndex,
    RebuildIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    TableName,
    definition_of,
    parse_statement,
)
from hudi_index.catalog.definition import IndexDefinition, IndexState
from hudi_index.catalog.expression import IndexExpression, parse_expression
from hudi_index.catalog.snapshot import CatalogSnapshot

__all__ = [
    "Catalog",
    "CatalogSnapshot",
    "CreateIndex",
    "DropIndex",
    "IndexDefinition",
    "IndexExpression",
    "IndexState",
    "RebuildIndex",
    "RefreshIndex",
    "ShowIndexes",
    "Statement",
    "TableName",
    "definition_of",
    "parse_expression",
    "parse_statement",
]
