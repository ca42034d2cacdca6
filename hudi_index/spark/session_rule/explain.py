"""What the indexes did for a query."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hudi_index.spark.catalyst.trees import active
from hudi_index.spark.read.file_index import last_plans
from hudi_index.spark.session_rule.families import switch_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["explain"]


def explain(frame: DataFrame) -> str:
    """What each scan of a Hudi table in a query reads, which index said so, or why none did.

    Plans the query if it is not yet planned, and runs nothing.

    Raises:
        NoJvmError: Spark Connect.
    """
    session = frame.sparkSession
    switch = switch_of(session)
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    with active(session):
        scans = json.loads(switch.scans(plan))
    if not scans:
        return "no Hudi table is read"
    numbered = {each.number: each for each in last_plans()}
    return "\n\n".join(_explain(scan, numbered) for scan in scans)


def _explain(scan: dict[str, Any], numbered: dict[int, Any]) -> str:
    known = numbered.get(scan.get("plan") or 0)
    if known is not None:
        return str(known.explain())
    reason = scan["reason"] or "planned too long ago: see the query's text in Spark's own explain"
    return f"table         {scan['table']}\nnot pruned    {reason}"
