"""What the provider keeps to itself: secrets of settings, of the environment and of connections.

They reach a job by files that only their owner can read, never by a command line. Airflow is told of them, so
that it masks them in logs and in what it shows of a task.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, mask_secret

from hudi_index.credentials import Options, is_secret, split_uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["mask_locations", "mask_options", "mask_settings", "parted", "refuse_early_secrets"]

# Spark looks at these before there is a session that could be told of them.
_EARLY = re.compile(r"spark\.(jars\.|submit\.|driver\.extra)")


def parted(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings or variables that anybody may read, and the others."""
    hidden = {name: value for name, value in values.items() if is_secret(name, str(value))}
    return {name: value for name, value in values.items() if name not in hidden}, hidden


def refuse_early_secrets(settings: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> None:
    """Raises AirflowFailException for what would work on a command line only, and holds a password.

    Args:
        settings: Spark settings.
        options: arguments of spark-submit.
    """
    early = [name for name, value in settings.items() if _EARLY.match(name) and is_secret(name, str(value))]
    early += [
        name for name, value in (options or {}).items() if isinstance(value, str) and is_secret("", value)
    ]
    if early:
        raise AirflowFailException(
            f"{', '.join(early)}: Spark needs it on its command line, where everybody can read the password "
            "in it. For repositories name an Ivy settings file by spark.jars.ivySettings"
        )


def mask_settings(values: object) -> None:
    """Have Airflow mask the secrets among settings, variables or arguments, however deep."""
    if isinstance(values, dict):
        for name, value in values.items():
            if isinstance(value, (dict, list, tuple)):
                mask_settings(value)
            elif is_secret(str(name), str(value)):
                mask_secret(str(value))
    elif isinstance(values, (list, tuple)):
        for each in values:
            mask_settings(each)


def mask_options(options: Mapping[str, str]) -> None:
    """Have Airflow mask storage options."""
    for secret in Options(options).secrets():
        mask_secret(secret)


def mask_locations(locations: Iterable[str]) -> None:
    """Have Airflow mask the credentials in URIs."""
    for location in locations:
        for secret in split_uri(location)[1].secrets():
            mask_secret(secret)
