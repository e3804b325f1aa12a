"""The hostile server, one per module."""

from collections.abc import Iterator

import pytest
from hostile import HostileServer


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server
