"""What a job read and wrote, for OpenLineage, where its provider is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_hudi_index.assets import uri_of
from airflow_hudi_index.outcome import WRITES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.providers.openlineage.extractors import OperatorLineage

__all__ = ["lineage_of"]


def lineage_of(report: Mapping[str, Any]) -> OperatorLineage[Any, Any]:
    """The table as input and its indexes as output; a table that is written to is the output."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import input_statistics_input_dataset, output_statistics_output_dataset

    parts = urlsplit(uri_of(str(report["table"])))
    namespace, name = f"{parts.scheme}://{parts.netloc}".removesuffix("://") or "file", parts.path
    if report.get("verb") in WRITES:
        changed = sum(report.get(each) or 0 for each in ("inserted", "updated", "moved", "deleted"))
        rows = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=changed, fileCount=report.get("file_groups")
        )
        return OperatorLineage(
            outputs=[OutputDataset(namespace=namespace, name=name, outputFacets={"outputStatistics": rows})]
        )
    read = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
        rowCount=report.get("rows_read"), fileCount=report.get("file_groups_changed")
    )
    table = InputDataset(namespace=namespace, name=name, inputFacets={"inputStatistics": read})
    if not report.get("commit"):
        return OperatorLineage(inputs=[table])
    written = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=report.get("entries_added"), size=report.get("bytes_written")
    )
    outputs = [
        OutputDataset(
            namespace=namespace,
            name=f"{name}/.hoodie/.index/{index}",
            outputFacets={"outputStatistics": written} if position == 0 else {},
        )
        for position, index in enumerate(report.get("indexes") or ["mdt"])
    ]
    return OperatorLineage(inputs=[table], outputs=outputs)
