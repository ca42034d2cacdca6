"""What must never be shown: which names stand for secrets, and where a URI hides one.

A place is told apart from the way in: `split_uri("s3://key:secret@bucket/t?sig=x")` gives `s3://bucket/t`,
which may stand in any message, report or command line, and the `Credentials`, which show themselves as
`***`. `Options` is a mapping that shows its names and none of its values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "MASK",
    "Credentials",
    "Options",
    "is_secret",
    "is_secret_option",
    "scrub",
    "split_uri",
    "without_credentials",
]

MASK = "***"

_SECRET_NAME = re.compile(
    r"secret|passw|passphrase|token|credential|signature|jaas|connection[._-]?string"
    # `recordkey` and `keygenerator` are none of these.
    r"|(?:access|account|api|encryption|master|private|service|shared|signing|storage)[._-]?key"
    r"|service[._-]?account(?!.*(?:path|name|email)$)"
    r"|(?:^|[._-])(?:key|keys|pwd|sas|sig|bearer)(?:$|[._-])",
    re.IGNORECASE,
)
_USER_AND_PASSWORD = re.compile(r"://[^/\s@]+:[^/\s@]+@")

_PLAIN_OPTION = re.compile(
    r"region|endpoint|bucket|account_?name|container|allow_?http|style|checksum|timeout|retries|anonymous"
    r"|skip_signature|use_emulator|unsigned_payload|conditional_put|copy_if_not_exists|request_payer"
    # Which key encrypts what is stored, and files that hold a key: nobody gets in by knowing these.
    r"|server_side_encryption|kms_key_id|service_account(?:_path)?$|application_credentials$"
    r"|client_id$|tenant_id$",
    re.IGNORECASE,
)

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# Their `name@` is a container, not a user.
_WITH_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
_SHORTEST = 4


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting or variable of this name holds a secret, or its value is a URI with a password."""
    return _SECRET_NAME.search(name) is not None or _USER_AND_PASSWORD.search(value) is not None


def is_secret_option(name: str, value: str = "") -> bool:
    """Whether a storage option holds a secret; `aws_sse_kms_key_id` does not, much as it looks like it."""
    return is_secret("" if _PLAIN_OPTION.search(name) else name, value)


class Options(Mapping[str, str]):
    """Settings that may hold secrets: shown by name only, wherever they end up being printed."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={MASK}' for name in self._values)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._values == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __reduce__(self) -> tuple[type[Options], tuple[dict[str, str]]]:
        return type(self), (self._values,)

    def secrets(self) -> tuple[str, ...]:
        """The values of storage options that nobody may see: all but those of names known to be harmless."""
        return tuple(value for name, value in self.items() if not _is_harmless(name, value))

    def harmless(self) -> dict[str, str]:
        """The others: those that anybody may read on a command line."""
        return {name: value for name, value in self.items() if _is_harmless(name, value)}


def _is_harmless(name: str, value: str) -> bool:
    return _PLAIN_OPTION.search(name) is not None and not is_secret("", value)


class Credentials:
    """What a URI had between `//` and `@`, and behind `?`."""

    # No dataclass: `asdict` would look inside.
    __slots__ = ("query", "user")

    def __init__(self, user: str = "", query: str = "") -> None:
        self.user, self.query = user, query

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Credentials) and (self.user, self.query) == (other.user, other.query)

    def __hash__(self) -> int:
        return hash((self.user, self.query))

    def __reduce__(self) -> tuple[type[Credentials], tuple[str, str]]:
        return type(self), (self.user, self.query)

    def __repr__(self) -> str:
        return f"Credentials({MASK if self else ''})"

    def __bool__(self) -> bool:
        return bool(self.user or self.query)

    def add_to(self, uri: str) -> str:
        """The URI with them, for whoever opens it."""
        if not self:
            return uri
        scheme, _, rest = uri.partition("://")
        if self.user.startswith(":"):
            container, _, rest = rest.partition("@")
            rest = f"{container}{self.user}@{rest}"
        elif self.user:
            rest = f"{self.user}@{rest}"
        return f"{scheme}://{rest}{'?' if self.query else ''}{self.query}"

    def secrets(self) -> tuple[str, ...]:
        """Each text that nobody may see, as it was written and as it is meant."""
        password = self.user.partition(":")[2]
        values = [value for _, value in parse_qsl(self.query, keep_blank_values=True)]
        raw = [pair.partition("=")[2] for pair in self.query.split("&")]
        return tuple(filter(None, (self.user, password, unquote(password), self.query, *raw, *values)))


def split_uri(location: str) -> tuple[str, Credentials]:
    """A location without its credentials, and these. A local path, or a `file:` URI, has none."""
    found = _URI.fullmatch(location)
    if found is None or found[1].lower() == "file":
        return location, Credentials()
    scheme, rest = found.groups()
    rest, _, query = rest.partition("?")
    user, host = _split_user(rest)
    if scheme.lower() in _WITH_CONTAINERS and user:
        container, colon, password = user.partition(":")
        return f"{scheme}://{container}@{host}", Credentials(f"{colon}{password}", query)
    return f"{scheme}://{host}", Credentials(user, query)


def _split_user(rest: str) -> tuple[str, str]:
    authority = rest.partition("/")[0]
    if "@" in authority:
        user, _, host = authority.rpartition("@")
        return user, host + rest[len(authority) :]
    # A secret with a slash that was not quoted: no port looks like this.
    if re.search(r":(?!\d*$)", authority) and "@" in rest:
        user, _, host = rest.rpartition("@")
        return user, host
    return "", rest


def without_credentials(location: str) -> str:
    """A location as anybody may read it."""
    return split_uri(location)[0]


def scrub(text: str, secrets: Iterable[str]) -> str:
    """A text of somebody else's, such as a library's error, without these secrets."""
    for secret in sorted({each for each in secrets if len(each) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text
