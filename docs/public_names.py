"""What is public: the names that users may import, by the module to import them from.

This list is the only one. The reference is written from it. tests/repository/test_public_names.py holds that
each name is there and described, and that documents, examples and DAGs import nothing else.
"""

from __future__ import annotations

import importlib

EVERY: tuple[str, ...] = ("*",)
"""All names of the module's `__all__`."""

ITSELF: tuple[str, ...] = ()
"""The module, by its name in a setting."""

PUBLIC: dict[str, tuple[str, ...]] = {
    "hudi_index": EVERY,
    "hudi_index.catalog": (
        *(
            "CreateIndex",
            "DropIndex",
            "RebuildIndex",
            "RefreshIndex",
            "ShowIndexes",
            "Statement",
            "TableName",
        ),
        *("IndexDefinition", "IndexState", "definition_of", "parse_statement"),
    ),
    "hudi_index.errors": EVERY,
    "hudi_index.gate": ("check_condition", "check_query"),
    "hudi_index.jobs": ("JobReport",),
    "hudi_index.kind_parts.bitmaps": ("TokenBuilder", "Tokens", "bitmap_question", "tokens_of_values"),
    "hudi_index.kind_parts.columns": ("ColumnQuestion", "column_entries", "column_range"),
    "hudi_index.kind_parts.numbers": ("NumberedQuestion",),
    "hudi_index.kind_parts.ranges": ("find_domain", "part_domain", "points_of", "source_of"),
    "hudi_index.kind_parts.values": ("entry_table", "key_parts", "values_of"),
    "hudi_index.kind_specs": ("KindSpec", "Option", "Sharing", "Tier", "specs"),
    "hudi_index.kinds": (
        *("EntryBuilder", "IndexKind", "Question", "RowQuestion", "SliceContext", "Source", "TableFacts"),
    ),
    "hudi_index.lifecycle": ("IndexStatus", "RepairReport", "TableStatus"),
    "hudi_index.planner": ("Answer", "ScanPlan"),
    "hudi_index.predicate": (
        *("Bound", "ColumnDomain", "Constraint", "Domain", "HasElement", "Marker", "Range", "TextPattern"),
    ),
    "hudi_index.spark": EVERY,
    "hudi_index.spark.daemon": ITSELF,
    "hudi_index.spark.launch": ITSELF,
    "hudi_index.spark.native": EVERY,
    "hudi_index.storage": EVERY,
    "hudi_index.validation": ("ContentResult", "IndexResult", "QueryResult", "Request", "ValidationReport"),
    "airflow_hudi_index.assets": ("hudi_index_asset", "hudi_table_asset"),
    "airflow_hudi_index.hooks.hudi_index": ("HudiIndexHook",),
    "airflow_hudi_index.operators": EVERY,
    "airflow_hudi_index.sensors": EVERY,
    "airflow_hudi_index.statements": ("create_statement", "rebuild_statement"),
    "airflow_hudi_index.task_groups": ("hudi_index_lifecycle",),
    "airflow_hudi_index.triggers.commits": ("HudiCommitTrigger",),
    "airflow_hudi_index.triggers.freshness": ("HudiIndexFreshTrigger",),
    "airflow_hudi_index.triggers.jobs": ("LocalJobTrigger",),
}


def public_names(module: str) -> tuple[str, ...]:
    """The public names of a module, none if it has none."""
    names = PUBLIC.get(module, ())
    if names != EVERY:
        return names
    return tuple(importlib.import_module(module).__all__)
