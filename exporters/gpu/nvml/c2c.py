"""The links between a GPU and the CPU of its module (NVLink-C2C of Grace Hopper and Grace Blackwell)."""

import pynvml

from exporters.gpu.answers import C2cLinks
from exporters.gpu.nvml.calls import Caller, error
from exporters.gpu.nvml.fields import FUNCTION, Field, read, read_one

COUNT, ACTIVE = 170, 171
# Both ids came with it; before, they were not used.
FIRST_BRANCH = 520
MOST_LINKS = 64


def links(caller: Caller, driver_branch: int) -> C2cLinks:
    """Return how many links there are and how many of them are active.

    Raises:
        UnsupportedError: When there is none.
    """
    count = read_one(caller, Field(COUNT)) if driver_branch >= FIRST_BRANCH else 0
    if not 0 < count <= MOST_LINKS:
        raise error(FUNCTION, pynvml.NVML_ERROR_NOT_SUPPORTED)
    found = read(caller, [Field(ACTIVE, link) for link in range(count)])
    return C2cLinks(count, sum(answer.value == 1 for answer in found.values()))
