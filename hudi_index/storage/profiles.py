"""Credentials of a profile in `~/.aws`, single sign-on included: read by boto3, where it is installed.

Neither obstore nor hudi-rs reads them. boto3 renews what expires; obstore asks it again every few minutes,
and hudi-rs is given what holds when it opens a table.
"""

from __future__ import annotations

import importlib
import os
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hudi_index.errors import InvalidOptionError, StorageDeniedError, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Profile", "profile_of"]

_ASKED_AGAIN = timedelta(minutes=5)


class Profile:
    """A profile's credentials, as obstore asks for them."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            boto3: Any = importlib.import_module("boto3")
        except ImportError:
            reason = "profiles are read by boto3, which is not installed; install it, or give keys"
            raise InvalidOptionError(option="aws_profile", value=name, reason=reason) from None
        self._errors: Any = importlib.import_module("botocore.exceptions").BotoCoreError
        try:
            session = boto3.Session(profile_name=name)
            self._credentials = session.get_credentials()
            self.region: str | None = session.region_name
        except self._errors as error:
            raise InvalidOptionError(option="aws_profile", value=name, reason=shortened(str(error))) from None
        if self._credentials is None:
            raise InvalidOptionError(option="aws_profile", value=name, reason="it has no credentials")

    def __call__(self) -> dict[str, Any]:
        """What obstore is to sign with for the next minutes."""
        found = self.options()
        return {
            "access_key_id": found["aws_access_key_id"],
            "secret_access_key": found["aws_secret_access_key"],
            "token": found.get("aws_session_token"),
            "expires_at": datetime.now(timezone.utc) + _ASKED_AGAIN,
        }

    def options(self) -> dict[str, str]:
        """The same as options, for who can't ask again. Raises StorageDeniedError."""
        try:
            keys = self._credentials.get_frozen_credentials()
        except self._errors as error:
            raise StorageDeniedError(
                path=f"profile {self.name}", operation="be signed in with", reason=shortened(str(error))
            ) from None
        found = {"aws_access_key_id": keys.access_key, "aws_secret_access_key": keys.secret_key}
        return {**found, **({"aws_session_token": keys.token} if keys.token else {})}


def profile_of(options: Mapping[str, str]) -> Profile | None:
    """The profile that options or the environment name, unless they hold keys. Raises InvalidOptionError."""
    named = options.get("aws_profile")
    if not named and not {"aws_access_key_id", "aws_skip_signature"} & options.keys():
        has_keys = any(os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE"))
        named = None if has_keys else os.environ.get("AWS_PROFILE")
    return _opened(named) if named else None


@lru_cache(maxsize=16)
def _opened(name: str) -> Profile:
    return Profile(name)
