"""Storage options on a command line: no secret stands there, and no message shows one."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import pytest

from hudi_index.cli import main
from hudi_index.credentials import Options, is_secret_option
from hudi_index.errors import InvalidOptionError
from hudi_index.storage_arguments import add_storage_arguments, storage_options_of
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "c4n4ry/Value"
SECRET_NAMES = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "azure_storage_account_key",
    "azure_storage_sas_token",
    "azure_storage_client_secret",
    "google_service_account_key",
]
PLAIN_NAMES = [
    "aws_region",
    "aws_endpoint",
    "aws_endpoint_url",
    "aws_allow_http",
    "aws_virtual_hosted_style_request",
    "aws_sse_kms_key_id",
    "aws_sse_bucket_key_enabled",
    "aws_server_side_encryption",
    "google_service_account_path",
    "google_application_credentials",
    "azure_storage_account_name",
    "azure_storage_client_id",
    "azure_storage_tenant_id",
]


def options_of(*arguments: str) -> dict[str, str]:
    parser = argparse.ArgumentParser()
    add_storage_arguments(parser)
    return dict(storage_options_of(parser.parse_args(arguments)))


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secrets_on_the_command_line_are_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(InvalidOptionError) as raised:
        options_of("--storage-option", f"{name}={SECRET}")
    said = str(raised.value)
    assert name.upper() in said
    assert "--storage-options-file" in said
    assert SECRET not in f"{said} {vars(raised.value)}"


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_what_is_no_secret_is_taken(name: str) -> None:
    assert options_of("--storage-option", f"{name}=a=b") == {name: "a=b"}
    assert Options({name: "a"}).harmless() == {name: "a"}


def test_password_in_an_address_is_a_secret() -> None:
    assert is_secret_option("aws_endpoint", "https://me:pw@host")
    assert Options({"aws_endpoint": "https://me:pw@host"}).secrets() == ("https://me:pw@host",)
    with pytest.raises(InvalidOptionError):
        options_of("--storage-option", "aws_endpoint=https://me:pw@host")


def test_what_is_no_pair_may_be_a_secret_too() -> None:
    for text in (SECRET, f"={SECRET}"):
        with pytest.raises(InvalidOptionError, match="NAME=VALUE") as raised:
            options_of("--storage-option", text)
        assert SECRET not in f"{raised.value} {vars(raised.value)}"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"aws_secret_access_key": SECRET, "aws_region": "eu", "aws_allow_http": True}),
        f"# mine\naws_secret_access_key = {SECRET}\n\naws_region=eu\naws_allow_http=true\n",
    ],
)
def test_file_gives_secrets_and_the_command_line_wins(tmp_path: Path, text: str) -> None:
    file = tmp_path / "options"
    file.touch(mode=0o600)
    file.write_text(text)
    found = options_of("--storage-options-file", str(file), "--storage-option", "aws_region=us")
    assert found == {"aws_secret_access_key": SECRET, "aws_region": "us", "aws_allow_http": "true"}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o660])
def test_files_that_others_can_use_are_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "options"
    file.write_text("{}")
    file.chmod(mode)
    with pytest.raises(InvalidOptionError, match="chmod 600") as raised:
        options_of("--storage-options-file", str(file))
    assert str(file) in str(raised.value)


@pytest.mark.parametrize("text", [f'{{"a": "{SECRET}"', f'{{"a": ["{SECRET}"]}}', f"a=b\n{SECRET}\n"])
def test_malformed_files_are_named_and_not_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "options"
    file.touch(mode=0o600)
    file.write_text(text)
    with pytest.raises(InvalidOptionError) as raised:
        options_of("--storage-options-file", str(file))
    assert str(file) in str(raised.value)
    assert SECRET not in f"{raised.value} {vars(raised.value)} {raised.value.__cause__}"


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(InvalidOptionError, match="--storage-options-file"):
            options_of("--storage-options-file", str(place))


def test_every_verb_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(fabricated(tmp_path / "t").path)
    refused = ["--storage-option", f"aws_secret_access_key={SECRET}"]
    for verb in (["status"], ["show"], ["maintain", "--in-process"], ["scan"], ["native", "status"]):
        assert main([*verb, "--table", table, "--storage-option", "aws_region=eu"]) == 0, verb
        capsys.readouterr()
        assert main([*verb, "--table", table, *refused]) == 2
        out, err = capsys.readouterr()
        assert "AWS_SECRET_ACCESS_KEY" in err
        assert SECRET not in out + err
