"""Tables and their indexes as Airflow assets, so that DAGs start by commits and by fresh indexes."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

from airflow.sdk import Asset, AssetWatcher

from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.locations import is_far, refuse_credentials, with_one_scheme
from airflow_hudi_index.triggers.commits import HudiCommitTrigger

__all__ = ["hudi_index_asset", "hudi_table_asset", "uri_of"]


def uri_of(table: str) -> str:
    """A path or URI as a URI, the same for all names of its store: `s3a://` and `s3n://` are `s3://`.

    Raises InvalidOptionError for one with credentials: assets are shown.
    """
    refuse_credentials(table)
    if "://" not in table:
        return PurePosixPath(table).as_uri()
    if not is_far(table):
        return table.rstrip("/")
    # Far places are Hadoop's, which quotes nothing.
    scheme, _, rest = with_one_scheme(table).rstrip("/").partition("://")
    return f"{scheme}://{quote(rest, safe='/@:')}"


def hudi_index_asset(table: str, *, backend: str = "engine") -> Asset:
    """The indexes of a table, by path or URI: the operators that change them say so by this asset.

    With `backend="native"` Hudi's own.
    """
    uri = f"{uri_of(table)}/.hoodie/{'metadata' if backend == 'native' else '.index'}"
    return Asset(name=uri, uri=uri)


def hudi_table_asset(
    table: str,
    *,
    poll_interval: float = 5.0,
    hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
    storage_conn_id: str | None = None,
) -> Asset:
    """A table, by path or URI, with a watcher: each new commit, whoever makes it, is an event of it.

    Storage options are the connections': what a watcher is given stands in the DAG as Airflow stores it.
    """
    uri = uri_of(table)
    trigger = HudiCommitTrigger(
        table=table,
        poll_interval=poll_interval,
        hudi_index_conn_id=hudi_index_conn_id,
        storage_conn_id=storage_conn_id,
    )
    # The name of a watcher is unique within its asset only.
    return Asset(name=uri, uri=uri, watchers=[AssetWatcher(name="hudi_commits", trigger=trigger)])
