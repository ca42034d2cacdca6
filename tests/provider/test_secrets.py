"""A canary in every place where a secret may stand, and a search of everything that comes out.

Each planted text has `c4n4ry` in it and the name of its place, so that one that is found tells where from.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from airflow.providers.common.compat.sdk import AirflowFailException, redact

from airflow_hudi_index.assets import hudi_index_asset, hudi_table_asset
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.job_command import JobCommand
from airflow_hudi_index.operators import HudiMaintainIndexesOperator
from airflow_hudi_index.sensors import HudiCommitSensor
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger
from hudi_index.errors import UserError
from hudi_index.spark.runtime.session import SHORT_RUN
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import FEW_TASKS, HOME, ROOT
from tests.support.canaries import MARK, Watch, database_texts, found_in, left_over
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = WITH_AIRFLOW


def canary(place: str) -> str:
    return f"{MARK}-{place}"


OPTION_NAMES = (
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "azure_storage_account_key",
    "azure_storage_sas_token",
    "google_service_account_key",
    "password",
    "made_up",
)
OPTIONS = {name: canary(f"option-{name}") for name in OPTION_NAMES}
SETTINGS = {
    name: canary(f"setting-{name}")
    for name in (
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net",
        "spark.hadoop.my.password",
        "spark.hadoop.my.token",
        "spark.hadoop.my.secret",
        "spark.hadoop.my.key",
    )
} | {"spark.hadoop.my.url": f"https://user:{canary('setting-url')}@host/x"}
VARIABLES = {
    name: canary(f"variable-{name}") for name in ("AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "MY_PASSWORD")
}
ASKED_FOR = "spark.hadoop.fs.s3a.secret.key"


def texts_of(error: BaseException) -> str:
    shown = [str(error), repr(error), str(vars(error)), "".join(traceback.format_exception(error))]
    return "\n".join(shown)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(host: str = "", extra: object = None, *, conn_id: str = "tried") -> HudiIndexHook:
        described = {"conn_type": "hudi_index", "host": host, "extra": extra or {}}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(described))
        return HudiIndexHook(conn_id)

    return make


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """All that is logged, at any level, and before Airflow masks anything in it."""
    caplog.set_level(logging.DEBUG)
    before, lines = structlog.get_config(), list[str]()

    def keep(_logger: object, _method: str, event: Any) -> Any:
        lines.append(repr(event) + (traceback.format_exc() if event.get("exc_info") else ""))
        raise structlog.DropEvent

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        processors=[keep],
        cache_logger_on_first_use=False,
    )
    yield lambda: "\n".join([caplog.text, *lines])
    structlog.configure(**before)


PROBE = '''
"""A job that uses a secret and then fails with it in its error."""
import hashlib, os, sys, time
from pathlib import Path
from hudi_index.spark.job import job_parser, run_job

def probe(table, asked, spark):
    value = spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key")
    variable = os.environ["AWS_SECRET_ACCESS_KEY"]
    # Workers of Python, for as long as a look takes.
    spark.sparkContext.parallelize([1], 1).map(lambda x: time.sleep(0.5)).count()
    option = table.storage.options["aws_secret_access_key"]
    # It goes along inside the task.
    storage = table.storage
    there = spark.sparkContext.parallelize([1], 1).map(lambda x: storage.options["aws_secret_access_key"])
    assert there.collect() == [option]
    digest = hashlib.sha256(f"{value} {variable} {option}".encode()).hexdigest()
    Path(asked.out).write_text(digest)
    raise RuntimeError(f"the store refused {value} and {option}")

if __name__ == "__main__":
    parser = job_parser(None)
    parser.add_argument("--out")
    sys.exit(run_job(parser, probe))
'''
EXPECTED = hashlib.sha256(
    " ".join(
        [SETTINGS[ASKED_FOR], VARIABLES["AWS_SECRET_ACCESS_KEY"], OPTIONS["aws_secret_access_key"]]
    ).encode()
).hexdigest()


@pytest.fixture
def probe(tmp_path: Path) -> JobCommand:
    (tmp_path / "probe.py").write_text(PROBE, encoding="utf-8")
    table = fabricated(tmp_path / "t", indexed=False)
    arguments = (f"--table={table.path}", f"--out={tmp_path / 'digest'}")
    return JobCommand("probe", str(tmp_path / "probe.py"), arguments)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, of this process and those it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.spark
def test_local_job_gets_its_secrets_and_nobody_else_does(
    connect: Any,
    probe: JobCommand,
    tmp_path: Path,
    temporary: Path,
    logged: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    hook = connect(extra={"spark_conf": {**SHORT_RUN, **FEW_TASKS, **SETTINGS}, "storage_options": OPTIONS})
    with Watch() as watch:
        job = hook.start_local_job(
            probe,
            tmp_path / "job",
            environment=VARIABLES,
            storage_options=hook.storage_options_of(str(tmp_path / "t")),
        )
        lines = list(job.lines())
    assert (tmp_path / "digest").read_text() == EXPECTED
    assert job.exit_code() == 1
    assert any("the store refused *** and ***" in line for line in lines)
    assert {"local.py", "SparkSubmit", "hudi_index.spark.daemon"} <= watch.seen
    assert watch.found == set()
    assert found_in("\n".join(lines)) == []
    assert left_over(job.folder, temporary) == []
    assert found_in(logged() + "".join(capfd.readouterr())) == []


@pytest.mark.spark
def test_submitted_job_gets_its_secrets_and_nobody_else_does(
    connect: Any,
    probe: JobCommand,
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    logged: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    from hudi_index.spark.runtime.java import ensure_java

    ensure_java()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("AIRFLOW_CONN_HERE", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    hook = connect(extra={"spark_conf": {**FEW_TASKS, "spark.driver.host": "127.0.0.1"}})
    job = hook.spark_job(
        probe, spark_conn_id="here", conf=SETTINGS, env_vars=VARIABLES, storage_options=OPTIONS
    )
    printed: list[str] = []
    follow = job.hook._process_spark_submit_log
    job.hook._process_spark_submit_log = lambda lines: follow(printed.append(line) or line for line in lines)
    with Watch() as watch:
        report, _ = job.run(on_ui=printed.append)
    assert (tmp_path / "digest").read_text() == EXPECTED, "".join(printed)
    assert report is not None
    assert "the store refused *** and ***;" in report["error"]
    assert {"SparkSubmit", "probe.py"} <= watch.seen
    assert watch.found == set()
    assert found_in("".join(printed) + json.dumps(report) + repr(job.__dict__)) == []
    assert "Spark-Submit cmd" in logged()
    assert found_in(logged() + "".join(capfd.readouterr())) == []
    assert left_over(temporary) == []


def test_secrets_that_would_be_seen_are_refused(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    far = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_FAR", json.dumps(far))
    monkeypatch.setenv("AIRFLOW_CONN_NEAR", json.dumps({"conn_type": "spark", "host": "yarn"}))
    hook, command = connect(), JobCommand("maintain", "maintain.py", ())
    early = {"spark.jars.repositories": f"https://u:{canary('repository')}@host/maven"}
    tried: list[dict[str, Any]] = [
        {"spark_conn_id": "far", "report_uri": "/r.json", "conf": SETTINGS},
        {"spark_conn_id": "far", "report_uri": "/r.json", "env_vars": VARIABLES},
        {"spark_conn_id": "near", "conf": {"spark.submit.deployMode": "cluster", **SETTINGS}},
        {"spark_conn_id": "near", "conf": early},
        {"spark_conn_id": "near", "repositories": early["spark.jars.repositories"]},
    ]
    for each in tried:
        with pytest.raises(AirflowFailException, match="command line") as raised:
            hook.spark_job(command, **each)
        assert found_in(texts_of(raised.value)) == []
    with pytest.raises(AirflowFailException, match="ivySettings"):
        hook.start_local_job(command, Path("/nowhere"), conf=early)


def test_driver_in_a_cluster_gets_the_options_that_anybody_may_read(
    connect: Any, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str]
) -> None:
    far = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_FAR", json.dumps(far))
    command = JobCommand("maintain", "maintain.py", ("--table=s3a://b/t",))
    options = {"aws_region": "eu", "aws_endpoint": "https://store", **OPTIONS}
    job = connect().spark_job(command, spark_conn_id="far", report_uri="/r", storage_options=options)
    argv = job.hook._build_spark_submit_command(command.application)
    assert argv[-2:] == ["--storage-option=aws_region=eu", "--storage-option=aws_endpoint=https://store"]
    assert not job.settings
    assert "storage options aws_access_key_id, aws_secret_access_key" in logged()
    assert found_in(" ".join(argv) + logged()) == []


def test_variables_for_yarn_stay_off_the_command_line(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_NEAR", json.dumps({"conn_type": "spark", "host": "yarn"}))
    command = JobCommand("maintain", "maintain.py", ("--table=/t",))
    job = connect().spark_job(
        command, spark_conn_id="near", conf={"spark.x": "1", **SETTINGS}, env_vars={"A": "b", **VARIABLES}
    )
    argv = job.hook._build_spark_submit_command(command.application)
    assert "spark.yarn.appMasterEnv.A=b" in argv
    assert "spark.x=1" in argv
    assert found_in(" ".join(argv)) == []


MALFORMED = {
    "extra": f'{{"storage_options": {{"password": "{canary("cut")}"',
    "storage_options": json.dumps({"storage_options": f'{{"password": "{canary("options")}"'}),
    "spark_conf": json.dumps({"spark_conf": f"[{canary('conf')!r}"}),
    "tables": json.dumps({"tables": [canary("list")]}),
    "run_mode": json.dumps({"run_mode": canary("mode")}),
    "cores": json.dumps({"cores": canary("cores")}),
    "allow_absolute_paths": json.dumps({"allow_absolute_paths": canary("allow")}),
    "spark_conn_id": json.dumps({"spark_conn_id": [canary("conn")]}),
}


@pytest.mark.parametrize("field", MALFORMED)
def test_malformed_connections_do_not_repeat_what_they_hold(
    connect: Any, field: str, logged: Callable[[], str], capfd: pytest.CaptureFixture[str]
) -> None:
    hook = connect(extra=MALFORMED[field])
    with pytest.raises(AirflowFailException, match=f"connection tried: {field} is") as raised:
        _ = hook.settings
    good, said = hook.test_connection()
    assert not good
    assert found_in(texts_of(raised.value) + said + logged() + "".join(capfd.readouterr())) == []


def test_connections_show_no_value(connect: Any, tmp_path: Path) -> None:
    uri = f"s3://user:{canary('password')}@bucket/wh"
    signed = f"s3://bucket/t?sig={canary('signature')}"
    hook = connect(
        uri, {"tables": {"signed": signed}, "storage_options": OPTIONS, "spark_conf": json.dumps(SETTINGS)}
    )
    settings = hook.settings
    assert dict(settings.storage_options) == OPTIONS
    assert dict(settings.spark_conf) == SETTINGS
    assert settings.locations.location_of("t") == f"{uri}/t"
    assert settings.locations.location_of("signed") == signed
    shown = [settings, settings.locations, hook.location_of("t"), hook.location_of("signed"), vars(settings)]
    assert found_in(f"{shown!r} {shown}") == []
    assert hook.location_of("t") == "s3://bucket/wh/t"
    with pytest.raises(UserError) as raised:
        hook.location_of("../t")
    assert found_in(texts_of(raised.value)) == []


def test_airflow_is_told_what_to_mask(connect: Any) -> None:
    uri = f"s3://user:{canary('masked-password')}@bucket/wh"
    options = {"made_up": canary("masked-option"), "aws_region": "eu-central-1"}
    conf = {"spark.my.key": canary("masked-setting"), "spark.sql.shuffle.partitions": "12345678"}
    _ = connect(uri, {"storage_options": json.dumps(options), "spark_conf": json.dumps(conf)}).settings
    secret = " ".join([canary("masked-password"), canary("masked-option"), canary("masked-setting")])
    assert redact(f"{secret} eu-central-1 12345678") == "*** *** *** eu-central-1 12345678"


WITH_SECRETS = [
    f"s3://user:{canary('user')}@bucket/t",
    f"https://account.blob.core.windows.net/c/t?sv=1&sig={canary('sas')}",
    f"abfss://container:{canary('container')}@account.dfs.core.windows.net/t",
]


@pytest.mark.parametrize("uri", WITH_SECRETS)
def test_tables_are_not_named_with_secrets(uri: str) -> None:
    tried = [
        lambda: HudiMaintainIndexesOperator(task_id="t", table=uri),
        lambda: HudiMaintainIndexesOperator(task_id="t", table="/t", report_folder=uri),
        lambda: HudiCommitSensor(task_id="t", table=uri),
        lambda: HudiCommitTrigger(table=uri),
        lambda: HudiIndexFreshTrigger(table=uri, limits={}),
        lambda: hudi_table_asset(uri),
        lambda: hudi_index_asset(uri),
        lambda: HudiIndexHook().open(uri),
        lambda: HudiIndexHook().location_of(uri),
    ]
    for each in tried:
        with pytest.raises(UserError) as raised:
            each()
        assert found_in(texts_of(raised.value)) == []


def test_triggers_and_watched_assets_are_stored_without_secrets(connect: Any, tmp_path: Path) -> None:
    from airflow.sdk import DAG
    from airflow.sdk.exceptions import TaskDeferred
    from airflow.serialization.serialized_objects import DagSerialization

    connect(str(tmp_path), {"storage_options": OPTIONS}, conn_id="far")
    fabricated(tmp_path / "t", indexed=False)
    sensor = HudiCommitSensor(
        task_id="s", table="t", after="20990101000000000", hudi_index_conn_id="far", deferrable=True
    )
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})
    _, arguments = deferred.value.trigger.serialize()
    assert arguments["hudi_index_conn_id"] == "far"
    assert found_in(json.dumps(arguments)) == []
    # It finds its way by the connection.
    again = HudiCommitTrigger(**{**arguments, "after": None})

    async def first() -> Any:
        return (await anext(again.run())).payload

    assert asyncio.run(asyncio.wait_for(first(), 60))["commits"]
    with DAG("watching", schedule=[hudi_table_asset(str(tmp_path / "t"), hudi_index_conn_id="far")]) as dag:
        HudiMaintainIndexesOperator(task_id="m", table="t", hudi_index_conn_id="far")
    assert found_in(json.dumps(DagSerialization.to_dict(dag))) == []


@pytest.fixture
def secretive(connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A DAG with secrets wherever one can be, as templates give them."""
    connect(str(tmp_path), {"storage_options": OPTIONS, "spark_conf": SETTINGS}, conn_id="secretive")
    for number, (name, value) in enumerate([*SETTINGS.items(), *VARIABLES.items()]):
        monkeypatch.setenv(f"HELD_{number}", json.dumps([name, value]))
    return dags_of(ROOT / "tests" / "provider" / "dags")["secretive"]


def test_nothing_of_a_run_is_stored_with_secrets(
    secretive: Any,
    tmp_path: Path,
    logged: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    fabricated(tmp_path / "t")
    with Watch() as watch:
        run = run_dag(secretive, table="t")
    assert run.states == {"drop": "success", "named": "failed", "fresh": "success"}, run.states
    assert "local.py" in watch.seen
    assert watch.found == set()
    stored = list(database_texts())
    assert {"rendered_task_instance_fields", "xcom"} <= {table for table, _ in stored}
    assert [(table, found) for table, text in stored for found in found_in(text)] == []
    rendered = [text for table, text in stored if table == "rendered_task_instance_fields"]
    assert any("***" in text and ASKED_FOR in text for text in rendered)
    # Others' jobs have folders beside these.
    assert left_over(HOME / "hudi_index" / "secretive", HOME / "logs") == []
    # What Airflow's own processes tell each other is logged too, and masked by Airflow before it is written.
    assert found_in(str(redact(logged())) + "".join(capfd.readouterr())) == []
