"""The hostile server, one per module, and a server of documents, one per test."""

from collections.abc import Iterator

import pytest
from hostile import HostileServer
from page_server import Server, serving


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as told:
        yield told
