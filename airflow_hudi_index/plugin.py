"""Shows the files of a task to those who may see the task: its job's log, its report, its validation.

Airflow guards no route of a plugin by itself; here each asks for the right to read the DAG's task instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from fastapi import FastAPI

__all__ = ["SHOWN", "HudiIndexPlugin", "reports_app"]

SHOWN = {
    "validation.html": "text/html; charset=utf-8",
    "report.json": "application/json",
    "job.log": "text/plain; charset=utf-8",
}

_HEADERS = {
    # Whatever text of a table got into a report: no script of it runs, and nothing is fetched for it.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def reports_app() -> FastAPI:
    """The application: one route."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import requires_access_dag
    from fastapi import Depends, FastAPI, HTTPException
    from fastapi.responses import FileResponse

    from airflow_hudi_index.settings import task_folder

    app = FastAPI(title="Hudi Index", docs_url=None, redoc_url=None, openapi_url=None)
    may_read = Depends(requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE))

    def show(dag_id: str, run_id: str, task_id: str, map_index: int, name: str) -> FileResponse:
        # The names are quoted into one file name each, so no path leads out of the folder.
        file = task_folder((dag_id, run_id, task_id, str(map_index))) / name
        if name not in SHOWN or not file.is_file():
            raise HTTPException(404, f"{name} of this task is not here: not written, or on another machine")
        return FileResponse(file, media_type=SHOWN[name], headers=_HEADERS)

    app.add_api_route(
        "/reports/{dag_id}/{run_id}/{task_id}/{map_index}/{name}",
        show,
        methods=["GET"],
        dependencies=[may_read],
        response_model=None,
    )
    return app


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
