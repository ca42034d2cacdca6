"""Shows the files of a task to those who may see the task: its job's log, its report, its validation.

Airflow guards no route of a plugin by itself; here each asks for the right to read the DAG's task logs, and
the task instance has to exist. Whatever else is asked for is not found.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any, BinaryIO

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, MutableMapping

    from fastapi import FastAPI

__all__ = ["SHOWN", "HudiIndexPlugin", "reports_app"]

SHOWN = {
    "validation.html": "text/html; charset=utf-8",
    "report.json": "application/json",
    "job.log": "text/plain; charset=utf-8",
}

# As long as Airflow's columns. Its pages take "~" for all DAGs, and so would the question who may read.
_ID = re.compile(r"[^\x00-\x1f\x7f]{1,250}")
_ALL = "~"
_LAST_MAP_INDEX = 2**31 - 1
_CHUNK = 1 << 16

_HEADERS = {
    # Whatever text of a table got into a report: no script of it runs, and nothing is fetched for it.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def reports_app() -> FastAPI:
    """The application: one route."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
    from fastapi import Depends, FastAPI, HTTPException
    from fastapi.responses import StreamingResponse

    app = FastAPI(title="Hudi Index", docs_url=None, redoc_url=None, openapi_url=None)

    def can_be(dag_id: str, run_id: str, task_id: str, map_index: str, name: str) -> None:
        """Whether it may be given to a database or a file system at all."""
        is_named = all(_ID.fullmatch(each) for each in (dag_id, run_id, task_id)) and dag_id != _ALL
        if not is_named or not _is_map_index(map_index) or name not in SHOWN:
            raise HTTPException(404, "no such file of a task")

    # As of the task's own log: what a job printed is all that its reports hold.
    may_read = requires_access_dag("GET", DagAccessEntity.TASK_LOGS)

    def show(dag_id: str, run_id: str, task_id: str, map_index: str, name: str) -> Any:
        key = (dag_id, run_id, task_id, str(int(map_index)))
        file = _open(key, name) if _is_known(key) else None
        if file is None:
            raise HTTPException(404, f"{name} of this task is not here: not written, or on another machine")
        # Without a length: the log of a job grows while it is read.
        return StreamingResponse(_chunks(file), media_type=SHOWN[name], headers=_HEADERS)

    app.add_api_route(
        "/reports/{dag_id}/{run_id}/{task_id}/{map_index}/{name}",
        show,
        methods=["GET"],
        # In this order: whom Airflow doesn't know learns nothing.
        dependencies=[Depends(get_user), Depends(can_be), Depends(may_read)],
        response_model=None,
    )
    return app


def _is_known(key: tuple[str, str, str, str]) -> bool:
    """Whether Airflow has such a task instance."""
    from airflow.models import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    columns = (TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id, TaskInstance.map_index)
    wanted = (*key[:3], int(key[3]))
    asked = select(TaskInstance.id).where(
        *(column == value for column, value in zip(columns, wanted, strict=True))
    )
    with create_session() as session:
        return session.scalar(asked) is not None


def _is_map_index(text: str) -> bool:
    return re.fullmatch(r"-1|[0-9]{1,10}", text) is not None and int(text) <= _LAST_MAP_INDEX


def _open(key: tuple[str, str, str, str], name: str) -> BinaryIO | None:
    """A file of a task's folder, None unless it is one, and there: no link leads a reader elsewhere."""
    from airflow_hudi_index.settings import state_folder, task_folder

    folder = task_folder(key)
    try:
        if not folder.resolve(strict=True).is_relative_to(state_folder().resolve()):
            return None
        # A pipe must not keep the reader waiting either.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.fdopen(os.open(folder / name, flags), "rb")
    except (OSError, ValueError, RuntimeError):
        return None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        return None
    return file


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


class _WhenAsked:
    """Makes the application when the first request comes: all processes load plugins, one serves them."""

    def __init__(self, make: Callable[[], FastAPI]) -> None:
        self._make = make
        self._app: FastAPI | None = None

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        if self._app is None:
            self._app = self._make()
        await self._app(scope, receive, send)


class HudiIndexPlugin(AirflowPlugin):
    """What the entry point `airflow.plugins` names."""

    name = "hudi_index"
    fastapi_apps: list[Any] = [  # noqa: RUF012  Airflow's
        {"app": _WhenAsked(reports_app), "url_prefix": "/hudi-index", "name": "Hudi Index"}
    ]
