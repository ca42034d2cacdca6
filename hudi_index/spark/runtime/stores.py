"""Storage options as Spark's settings: the same words open a table from Python and from Hadoop.

    storage_settings("s3a://bucket/trips", {"aws_endpoint": "https://store.example", …})

gives the connector to fetch (`spark.jars.packages`, of the Hadoop version that Spark brings) and its
settings (`spark.hadoop.fs.s3a.…`). What the options leave unsaid is read from the environment variables that
the engine reads as well (`AWS_REGION`, …): Hadoop's connectors know some of these only. Where neither says
anything the connector finds its own way: its `core-site.xml`, or the identity of the machine.

`REDACTION` has Spark hide more of them than it would by itself on its web pages and in its event log.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pyspark.find_spark_home import _find_spark_home

from hudi_index.credentials import without_credentials
from hudi_index.errors import UnsupportedStorageError
from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "PACKAGES",
    "REDACTION",
    "access_settings",
    "hadoop_version",
    "merged_packages",
    "storage_settings",
    "unsaid",
]

PACKAGES = "spark.jars.packages"

REDACTION = {
    # Spark's own, and the names of Azure's and Google's secrets.
    "spark.redaction.regex": r"(?i)secret|password|token|access[.]?key|account[.]key|[.]sas[.]|private[.]key"
}

_GCS_CONNECTOR = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.25"
_S3 = ("s3", "s3a", "s3n")
_AZURE = ("abfs", "abfss", "wasb", "wasbs")
_CONNECTED = (*_S3, "gs", *_AZURE)
_S3A = "org.apache.hadoop.fs.s3a"
_ABFS = "org.apache.hadoop.fs.azurebfs"
_OTHER_NAMES = {"gcs": "gs://bucket/…", "az": "", "azure": ""}
_AS_ABFS = "abfss://container@account.dfs.core.windows.net/…"
_ENCRYPTIONS = {"aws:kms": "SSE-KMS", "aes256": "SSE-S3", "sse-c": "SSE-C"}

# What hudi-rs takes for the same, the first that is set.
_WORDS = {
    "access_key": ("aws_access_key_id",),
    "secret_key": ("aws_secret_access_key",),
    "session_token": ("aws_session_token", "aws_token"),
    "region": ("aws_region", "aws_default_region"),
    "endpoint": ("aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint"),
    "virtual_hosts": ("aws_virtual_hosted_style_request",),
    "is_anonymous": ("aws_skip_signature",),
    "encryption": ("aws_server_side_encryption",),
    "kms_key": ("aws_sse_kms_key_id",),
    "google_file": (
        "google_service_account",
        "google_service_account_path",
        "google_application_credentials",
    ),
    "azure_key": ("azure_storage_account_key", "azure_storage_access_key", "azure_storage_master_key"),
    "azure_sas": ("azure_storage_sas_token", "azure_storage_sas_key"),
    "azure_client": ("azure_storage_client_id", "azure_client_id"),
    "azure_secret": ("azure_storage_client_secret", "azure_client_secret"),
    "azure_tenant": (
        "azure_storage_tenant_id",
        "azure_tenant_id",
        "azure_storage_authority_id",
        "azure_authority_id",
    ),
}
_IDENTITY = tuple(
    f"spark.hadoop.fs.s3a.{name}"
    for name in ("access.key", "secret.key", "session.token", "aws.credentials.provider")
)
_OF_ONE_KEY = ("access_key", "secret_key", "session_token")


def storage_settings(location: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """The Spark settings that open a table where these storage options open it; none for a local path.

    Some hold secrets: give them to the builder of a session, not to a command line.

        SparkSession.builder.config(map=storage_settings("s3a://bucket/trips", options))

    Args:
        location: path or URI of the table, or of its warehouse.
        options: storage options, as for `IndexedTable.open`.

    Raises:
        UnsupportedStorageError: Hadoop has no such scheme.
    """
    scheme = _scheme(location)
    if scheme in _S3:
        chosen = {PACKAGES: f"org.apache.hadoop:hadoop-aws:{hadoop_version()}"}
        if scheme != "s3a":
            chosen[f"spark.hadoop.fs.{scheme}.impl"] = f"{_S3A}.S3AFileSystem"
    elif scheme == "gs":
        chosen = {
            PACKAGES: _GCS_CONNECTOR,
            "spark.hadoop.fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        }
    elif scheme in _AZURE:
        chosen = {PACKAGES: f"org.apache.hadoop:hadoop-azure:{hadoop_version()}"}
    elif scheme in _OTHER_NAMES:
        reason = f"it has no scheme {scheme!r}: name the table {_OTHER_NAMES[scheme] or _AS_ABFS}"
        raise UnsupportedStorageError(
            uri=without_credentials(location), operation="be opened by Spark", reason=reason
        )
    else:
        return {}
    return {**chosen, **access_settings(location, options)}


def access_settings(location: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Those of them that say where the store is and who asks, for a Spark that has its connectors."""
    scheme = _scheme(location)
    if scheme not in _CONNECTED:
        return {}
    # With all names in full, and with the keys of a profile.
    known = _known(Storage.open(location, options).for_hudi_rs()[1])
    if scheme in _S3:
        found = _s3_settings(known)
    elif scheme == "gs":
        found = _google_settings(known)
    else:
        found = _azure_settings(scheme, location, known)
    return {f"spark.hadoop.{name}": value for name, value in found.items()}


def _known(options: Mapping[str, str]) -> dict[str, str]:
    """What is said, by our own words: an option over any variable of the environment."""
    is_key_given = any(name in options for name in _WORDS["access_key"])
    known = {}
    for word, names in _WORDS.items():
        said = [options.get(name) for name in names]
        # A token of the environment belongs to the environment's key.
        if not (is_key_given and word in _OF_ONE_KEY):
            said += [os.environ.get(name.upper()) for name in names]
        if value := next(filter(None, said), None):
            known[word] = value
    return known


def _s3_settings(known: Mapping[str, str]) -> dict[str, str]:
    found = {}
    if endpoint := known.get("endpoint"):
        found["fs.s3a.endpoint"] = endpoint
        found["fs.s3a.connection.ssl.enabled"] = _text(not endpoint.lower().startswith("http:"))
    if "endpoint" in known or "virtual_hosts" in known:
        found["fs.s3a.path.style.access"] = _text(not _is_true(known.get("virtual_hosts")))
    if "region" in known:
        found["fs.s3a.endpoint.region"] = known["region"]
    if _is_true(known.get("is_anonymous")):
        found["fs.s3a.aws.credentials.provider"] = f"{_S3A}.AnonymousAWSCredentialsProvider"
    elif "access_key" in known and "secret_key" in known:
        found["fs.s3a.access.key"], found["fs.s3a.secret.key"] = known["access_key"], known["secret_key"]
        kind = "Temporary" if "session_token" in known else "Simple"
        found["fs.s3a.aws.credentials.provider"] = f"{_S3A}.{kind}AWSCredentialsProvider"
        if "session_token" in known:
            found["fs.s3a.session.token"] = known["session_token"]
    if encryption := _ENCRYPTIONS.get(known.get("encryption", "").lower()):
        found["fs.s3a.encryption.algorithm"] = encryption
        found |= {"fs.s3a.encryption.key": known["kms_key"]} if "kms_key" in known else {}
    return found


def _google_settings(known: Mapping[str, str]) -> dict[str, str]:
    if "google_file" not in known:
        return {}
    return {
        # 2.x knows the first, 3.x the second.
        "fs.gs.auth.service.account.enable": "true",
        "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "fs.gs.auth.service.account.json.keyfile": known["google_file"],
    }


def _azure_settings(scheme: str, location: str, known: Mapping[str, str]) -> dict[str, str]:
    """By account, as Hadoop has them, so that one session reaches several."""
    container, _, host = urlsplit(without_credentials(location)).netloc.rpartition("@")
    if scheme.startswith("wasb"):
        if "azure_sas" in known:
            return {f"fs.azure.sas.{container}.{host}": known["azure_sas"].removeprefix("?")}
        return {f"fs.azure.account.key.{host}": known["azure_key"]} if "azure_key" in known else {}
    if "azure_key" in known:
        return {
            f"fs.azure.account.auth.type.{host}": "SharedKey",
            f"fs.azure.account.key.{host}": known["azure_key"],
        }
    if {"azure_client", "azure_secret", "azure_tenant"} <= set(known):
        provider = f"{_ABFS}.oauth2.ClientCredsTokenProvider"
        address = f"https://login.microsoftonline.com/{known['azure_tenant']}/oauth2/token"
        return {
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{host}": provider,
            f"fs.azure.account.oauth2.client.id.{host}": known["azure_client"],
            f"fs.azure.account.oauth2.client.secret.{host}": known["azure_secret"],
            f"fs.azure.account.oauth2.client.endpoint.{host}": address,
        }
    return {}


def unsaid(derived: Mapping[str, str], said: Iterable[str]) -> dict[str, str]:
    """What is derived but for what somebody has said: who says who asks says all of that."""
    names = set(said)
    if not names.isdisjoint(_IDENTITY):
        names.update(_IDENTITY)
    return {name: value for name, value in derived.items() if name not in names}


@lru_cache(maxsize=1)
def hadoop_version() -> str:
    """The version of Hadoop's own jars in the Spark that is used: connectors must be of the same."""
    jars = Path(_find_spark_home()) / "jars"  # type: ignore[no-untyped-call]
    found = sorted(
        match[1]
        for file in jars.glob("hadoop-client-*.jar")
        if (match := re.fullmatch(r"hadoop-client-(?:api|runtime)-(\d[\w.-]*)\.jar", file.name))
    )
    if not found:
        raise UnsupportedStorageError(
            uri=str(jars), operation="give its Hadoop's version", reason="it has no hadoop-client-api-*.jar"
        )
    return found[-1]


def merged_packages(*lists: str) -> str:
    """Coordinates of Maven, with commas between, each artifact once: the first version of it counts."""
    chosen: dict[str, str] = {}
    for each in filter(None, (part.strip() for text in lists for part in text.split(","))):
        chosen.setdefault(each.rpartition(":")[0], each)
    return ",".join(chosen.values())


def _scheme(location: str) -> str:
    return match[1].lower() if (match := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", location)) else ""


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() in ("true", "1", "yes", "on", "y", "t")


def _text(value: bool) -> str:  # noqa: FBT001
    return str(value).lower()
