from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml, build_fake_nvml


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the fake library."""
    return build_fake_nvml(tmp_path_factory.mktemp("nvml")).parent


@pytest.fixture
def nvml(tmp_path: Path, library: Path) -> FakeNvml:
    return FakeNvml(tmp_path, library)


@pytest.fixture
def exporter() -> Iterator[Callable[..., Exporter]]:
    """Return a function that starts an exporter; all of them are stopped at the end."""
    started: list[Exporter] = []

    def start(*flags: str, nvml: FakeNvml | None = None, before: str = "") -> Exporter:
        started.append(Exporter(*flags, environment=nvml.environment if nvml else None, before=before))
        return started[-1]

    yield start
    for one in started:
        one.stop()
