"""Airflow's connections to object stores as storage options, looked up where and when they are used.

    aws                     key and secret, roles, profiles and temporary keys through the Amazon provider
                            where it is installed, else login and password; region_name, endpoint_url
    google_cloud_platform   key_path or keyfile_dict; nothing: the machine's own identity
    wasb, adls              account key, SAS token, connection string, or client with tenant_id

A connection that names none of these gives no options: the store is then asked as whoever the machine is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseHook

from airflow_hudi_index.masking import mask_options
from hudi_index.credentials import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow.sdk import Connection

__all__ = ["TYPES", "options_of_connection"]

_AZURE_HOSTS = (".blob.core.windows.net", ".dfs.core.windows.net")
# What only the Amazon provider can make keys of.
_BY_AMAZON = ("role_arn", "profile_name", "assume_role_method", "session_kwargs", "assume_role_kwargs")
_BY_GOOGLE = ("key_secret_name", "credential_config_file", "impersonation_chain")


def options_of_connection(conn_id: str) -> Options:
    """The storage options that a connection means; Airflow is told of its secrets.

    Raises:
        AirflowNotFoundException: there is no such connection.
        AirflowFailException: it is of another type, or says something that can't be handed on.
    """
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type not in _READERS:
        raise _wrong(connection, f"is of type {connection.conn_type!r}, none of {', '.join(TYPES)}")
    found = _READERS[connection.conn_type](connection, _extra(connection))
    options = {name: value for name, value in found.items() if value}
    mask_options(options)
    return Options(options)


def _of_aws(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str | None]:
    options = _keys_by_amazon(connection) or _keys_by_fields(connection, extra)
    endpoint = _aws_endpoint(extra)
    options["aws_region"] = options.get("aws_region") or _text(extra.get("region_name"))
    if endpoint:
        style = _inner(extra, "config_kwargs", "s3", "addressing_style")
        options["aws_endpoint"] = endpoint
        options["aws_allow_http"] = _true_if(endpoint.lower().startswith("http:"))
        # Stores of one's own rarely have a name for each bucket.
        options["aws_virtual_hosted_style_request"] = "true" if style == "virtual" else "false"
    return options


def _keys_by_amazon(connection: Connection) -> dict[str, str | None]:
    """Nothing where the Amazon provider is not installed."""
    try:
        from airflow.providers.amazon.aws.hooks.base_aws import (  # type: ignore[import-not-found]  # an optional provider
            AwsBaseHook,
        )
    except ImportError:
        return {}
    hook = AwsBaseHook(aws_conn_id=connection.conn_id, client_type="s3")
    session = hook.get_session()
    found = session.get_credentials()
    keys = found.get_frozen_credentials() if found else None
    return {
        "aws_access_key_id": keys.access_key if keys else None,
        "aws_secret_access_key": keys.secret_key if keys else None,
        "aws_session_token": keys.token if keys else None,
        "aws_region": hook.region_name or session.region_name,
    }


def _keys_by_fields(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str | None]:
    asked = [name for name in _BY_AMAZON if extra.get(name)]
    if asked:
        provider = "apache-airflow-providers-amazon"
        raise _wrong(connection, f"has {', '.join(asked)}: install {provider}, which makes keys of it")
    return {
        "aws_access_key_id": connection.login or _text(extra.get("aws_access_key_id")),
        "aws_secret_access_key": connection.password or _text(extra.get("aws_secret_access_key")),
        "aws_session_token": _text(extra.get("aws_session_token")),
    }


def _aws_endpoint(extra: Mapping[str, Any]) -> str | None:
    """The one of S3, if services have their own."""
    return _text(_inner(extra, "service_config", "s3", "endpoint_url") or extra.get("endpoint_url"))


def _of_google(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str | None]:
    def field(name: str) -> Any:
        return extra.get(name) or extra.get(f"extra__google_cloud_platform__{name}")

    if asked := [name for name in _BY_GOOGLE if field(name)]:
        reason = "give key_path or keyfile_dict, or none of them for the machine's own identity"
        raise _wrong(connection, f"has {', '.join(asked)}, which can't be handed on: {reason}")
    key = field("keyfile_dict")
    return {
        "google_service_account": _text(field("key_path")),
        "google_service_account_key": json.dumps(key) if isinstance(key, dict) else _text(key),
    }


def _of_azure(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str | None]:
    def field(name: str) -> str | None:
        return _text(extra.get(name) or extra.get(f"extra__{connection.conn_type}__{name}"))

    if text := field("connection_string"):
        return _of_connection_string(text)
    tenant = field("tenant_id")
    options = _azure_account(connection.host or "", "" if tenant else connection.login or "")
    if tenant:
        options["azure_storage_tenant_id"] = tenant
        options["azure_storage_client_id"] = connection.login
        options["azure_storage_client_secret"] = connection.password
    elif key := field("shared_access_key"):
        options["azure_storage_account_key"] = key
    elif token := field("sas_token"):
        # Azure's provider takes a whole address too.
        options["azure_storage_sas_token"] = urlsplit(token).query or token.removeprefix("?")
    else:
        options["azure_storage_account_key"] = connection.password
    return options


def _azure_account(host: str, login: str) -> dict[str, str | None]:
    """Host is an address, the name of a host, or the name of an account."""
    name = urlsplit(host).netloc or host
    if "." not in name and "://" not in host:
        return {"azure_storage_account_name": name or login}
    options: dict[str, str | None] = {"azure_storage_account_name": login or name.partition(".")[0]}
    if not name.endswith(_AZURE_HOSTS):
        options["azure_storage_endpoint"] = host.rstrip("/") if "://" in host else f"https://{host}"
        options["azure_allow_http"] = _true_if(host.lower().startswith("http:"))
    return options


def _of_connection_string(text: str) -> dict[str, str | None]:
    parts = {
        name.strip().lower(): value.strip()
        for name, given, value in (part.partition("=") for part in text.split(";"))
        if given
    }
    endpoint = parts.get("blobendpoint")
    options = _azure_account(endpoint or "", parts.get("accountname", ""))
    options["azure_storage_account_key"] = parts.get("accountkey")
    options["azure_storage_sas_token"] = parts.get("sharedaccesssignature")
    return options


def _extra(connection: Connection) -> dict[str, Any]:
    try:
        found = json.loads(connection.extra) if connection.extra else {}
    except ValueError:
        # The error itself keeps the text.
        raise _wrong(connection, "has an extra that is no JSON") from None
    if not isinstance(found, dict):
        raise _wrong(connection, "has an extra that is no JSON object")
    # Airflow's form gives objects as their text.
    return {name: _object(value) for name, value in found.items()}


def _object(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _inner(extra: Any, *names: str) -> Any:
    for name in names:
        extra = extra.get(name) if isinstance(extra, dict) else None
    return extra


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _true_if(truth: bool) -> str | None:  # noqa: FBT001  it has no other argument
    return "true" if truth else None


def _wrong(connection: Connection, reason: str) -> AirflowFailException:
    return AirflowFailException(f"storage connection {connection.conn_id} {reason}")


_READERS: dict[str, Callable[[Connection, Mapping[str, Any]], dict[str, str | None]]] = {
    "aws": _of_aws,
    "google_cloud_platform": _of_google,
    "wasb": _of_azure,
    "adls": _of_azure,
}
TYPES = tuple(_READERS)
"""The types of connection that are understood."""
