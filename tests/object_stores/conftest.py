"""All object stores, each started when the first test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.far_stores import (
    FAR_STORES,
    StoreRoot,
    root_in_own_bucket,
    root_of_fixture,
    started_azurite,
    started_versitygw,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreRoot]:
    with started_versitygw(tmp_path_factory.mktemp("versitygw") / "buckets") as root:
        yield root


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreRoot]:
    with started_azurite(tmp_path_factory.mktemp("azurite") / "data") as root:
        yield root


@pytest.fixture(scope="session")
def own_bucket() -> Iterator[StoreRoot]:
    with root_in_own_bucket() as root:
        yield root


@pytest.fixture(params=FAR_STORES)
def far_root(request: pytest.FixtureRequest) -> StoreRoot:
    """The root in each store in turn."""
    return root_of_fixture(request.param, request)
