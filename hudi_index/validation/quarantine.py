"""Taking a faulty index out of service.

An `invalid` index is asked by nobody: every plan loads the catalog anew, those of tables that are open
already too. REBUILD INDEX brings it back. Where `files` itself is wrong, what the indexes are said to cover
is forgotten as well: file groups are then noted, and numbered, anew.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.coverage import files
from hudi_index.errors import ConflictError, HudiIndexError, UserError
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.catalog import IndexDefinition
    from hudi_index.storage import Storage
    from hudi_index.validation.report import ValidationReport

__all__ = ["take_out_of_service"]

log = logging.getLogger(__name__)

_LONGEST_REASON = 500


def take_out_of_service(
    storage: Storage,
    faults: Mapping[str, tuple[IndexDefinition, list[str]]],
    report: ValidationReport,
    *,
    forgets_coverage: bool,
) -> None:
    """Make each faulty index invalid, with the evidence as its reason."""
    catalog = Catalog(storage)
    for name, (definition, evidence) in faults.items():
        reason = f"validation: {'; '.join(evidence)}"
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[:_LONGEST_REASON]}…"
        try:
            catalog.change_state(name, IndexState.INVALID, reason, index_id=definition.id)
        except (ConflictError, UserError) as error:
            # Somebody dropped it or builds it anew: what was wrong is not in service any more.
            report.notes.append(f"index {name} was not made invalid: {error}")
            continue
        report.invalidated.append(name)
        report.advice.append(f"REBUILD INDEX {name} makes it anew")
        log.warning(
            "index %s of %s is invalid: %s; REBUILD INDEX %s makes it anew", name, storage.uri, reason, name
        )
    if forgets_coverage:
        _forget_coverage(storage, report)


def _forget_coverage(storage: Storage, report: ValidationReport) -> None:
    metadata_table = MetadataTable.of(storage)
    try:
        shards = metadata_table.view().state.shards.get(files.PARTITION, 1)
        with metadata_table.begin(
            shards={files.PARTITION: shards}, replaced=[files.PARTITION]
        ) as transaction:
            transaction.commit()
    except HudiIndexError as error:
        report.notes.append(
            f"what the indexes cover could not be forgotten ({error}): "
            "no index is used meanwhile; validate again before rebuilding them"
        )
