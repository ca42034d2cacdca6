"""Storage options: the words of hudi-rs, which are those of the Rust crate that it shares with obstore.

One dictionary serves every store: a word begins with whose it is (`aws_`, `google_`, `azure_`), and words of
the others are passed over. Upper or lower case, and without the beginning too (`region`). What is not given
is looked for in the environment under the same names, in upper case, by obstore and hudi-rs themselves. A
word that nobody knows is refused: hudi-rs would pass over it, and a typo would be found by an error about
something else.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_index.credentials import MASK
from hudi_index.errors import InvalidOptionError
from hudi_index.storage.locations import Provider
from hudi_index.storage.profiles import profile_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.storage.locations import Address
    from hudi_index.storage.profiles import Profile

__all__ = ["KNOWN_OPTIONS", "StoreOptions", "check_storage_options"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLIENT = _words(
    "allow_http allow_invalid_certificates connect_timeout default_content_type http1_only"
    " http2_keep_alive_interval http2_keep_alive_timeout http2_keep_alive_while_idle http2_max_frame_size"
    " http2_only pool_idle_timeout pool_max_idle_per_host proxy_ca_certificate proxy_excludes proxy_url"
    " randomize_addresses read_timeout root_certificate timeout user_agent"
)
"""About HTTP: obstore takes them apart from the others, and dies of them among the others."""

_STORE = {
    Provider.S3: _words(
        "access_key_id checksum_algorithm conditional_put container_authorization_token_file"
        " container_credentials_full_uri container_credentials_relative_uri copy_if_not_exists default_region"
        " disable_bulk_delete disable_tagging endpoint endpoint_url endpoint_url_sts"
        " imdsv1_fallback metadata_endpoint profile region request_payer role_arn role_session_name"
        " s3_express secret_access_key server_side_encryption session_token skip_signature"
        " sse_bucket_key_enabled sse_customer_key_base64 sse_kms_key_id token unsigned_payload"
        " virtual_hosted_style_request web_identity_token_file"
    ),
    Provider.GCS: _words(
        "application_credentials base_url bearer_token service_account service_account_key"
        " service_account_path skip_signature"
    ),
    Provider.AZURE: _words(
        "authority_host authority_id client_id client_secret credential_type disable_tagging endpoint"
        " fabric_cluster_identifier fabric_session_token fabric_token_service_url fabric_workload_host"
        " federated_token_file identity_endpoint msi_endpoint msi_resource_id object_id skip_signature"
        " storage_access_key storage_account_key storage_account_name storage_authority_host"
        " storage_authority_id storage_client_id storage_client_secret storage_endpoint storage_master_key"
        " storage_sas_key storage_sas_token storage_tenant_id storage_token storage_use_emulator tenant_id"
        " use_azure_cli use_fabric_endpoint"
    ),
}

KNOWN_OPTIONS = frozenset(
    f"{provider.value}_{word}" for provider in Provider for word in (*_STORE[provider], *_CLIENT)
)
"""All words, in full."""

_BEGINNING = re.compile(rf"({'|'.join(provider.value for provider in Provider)})_(.+)")


@dataclass(frozen=True)
class StoreOptions:
    """What obstore and hudi-rs are opened with, each in its own form."""

    store: Mapping[str, str]
    client: Mapping[str, str]
    profile: Profile | None

    @classmethod
    def of(cls, address: Address, options: Mapping[str, str]) -> StoreOptions:
        """The options of one store. Raises InvalidOptionError."""
        provider = address.provider
        store: dict[str, str] = dict(address.options)
        client: dict[str, str] = {}
        for full, value in check_storage_options(options, provider).items():
            found = _BEGINNING.fullmatch(full)
            if found and found[1] == provider.value:
                (client if found[2] in _CLIENT else store)[found[2] if found[2] in _CLIENT else full] = value
        for name in _CLIENT - client.keys():
            # obstore looks there only if it is given none of them.
            if of_environment := os.environ.get(f"{provider.value}_{name}".upper()):
                client[name] = of_environment
        profile = profile_of(store) if provider is Provider.S3 else None
        store.pop("aws_profile", None)
        if profile and profile.region and not {"aws_region", "aws_default_region"} & store.keys():
            store["aws_region"] = profile.region
        return cls(store, client, profile)

    def open_with_obstore(self, url: str, retries: Mapping[str, Any]) -> Any:
        """A store of obstore."""
        from obstore.store import from_url

        more = {"credential_provider": self.profile} if self.profile else {}
        config, client = dict(self.store), dict(self.client)
        open_url: Any = from_url
        return open_url(url, config=config, client_options=client, retry_config=dict(retries), **more)

    def for_hudi_rs(self, provider: Provider) -> dict[str, str]:
        """The options of hudi-rs; what expires is as it is now."""
        client = {f"{provider.value}_{name}": value for name, value in self.client.items()}
        keys = self.profile.options() if self.profile else {}
        return {**self.store, **client, **keys}


def check_storage_options(options: Mapping[str, str], provider: Provider | None = None) -> dict[str, str]:
    """Options under their full names.

    Args:
        options: as somebody gave them.
        provider: whose words those without a beginning are; without one they are not understood.

    Raises:
        InvalidOptionError: a word that nobody knows.
    """
    found: dict[str, str] = {}
    for name, value in options.items():
        full = _full_name(name.lower(), provider)
        if full is None:
            raise InvalidOptionError(option=name, value=MASK, reason=_reason_against(name.lower()))
        found[full] = value
    return found


def _full_name(name: str, provider: Provider | None) -> str | None:
    if name in KNOWN_OPTIONS:
        return name
    beginnings = () if provider is None else (f"{provider.value}_", f"{provider.value}_storage_")
    return next((f"{each}{name}" for each in beginnings if f"{each}{name}" in KNOWN_OPTIONS), None)


def _reason_against(name: str) -> str:
    close = difflib.get_close_matches(name, KNOWN_OPTIONS, n=1)
    if close:
        return f"no storage option has that name; did you mean {close[0]}?"
    return "no storage option has that name; they are hudi-rs's, such as aws_region"
