"""The NVLinks of one GPU, added up: a series for each of 18 links and type would be too many."""

import pynvml

from exporters.gpu.answers import NvLink
from exporters.gpu.errors import TransientError, UnsupportedError
from exporters.gpu.nvml.calls import Caller, error
from exporters.gpu.nvml.fields import ALL_LINKS, Field, read

KIBIBYTE = 1024
LINK_COUNT = 91
TRANSMITTED_KIB, RECEIVED_KIB = 138, 139
# NVLink 5 (Blackwell) counts bytes, and errors of other types.
TRANSMITTED_BYTES, RECEIVED_BYTES = 202, 204
ERRORS = {"replay": 161, "recovery": 162, "crc": 163}
ERRORS_NVLINK_5 = {
    "malformed_packet": 206,
    "buffer_overrun": 207,
    "receive": 208,
    "receive_remote": 209,
    "receive_general": 210,
    "local_link_integrity": 211,
    "transmit_discard": 212,
    "link_recovery_failed": 214,
    "effective": 219,
    "symbol": 221,
}
# Ids above 200 had another meaning before.
NVLINK_5_BRANCH = 570


def collect(caller: Caller, driver_branch: int) -> NvLink:
    """Return all links together.

    Raises:
        UnsupportedError: When there is no link.
    """
    links = _count(caller)
    if not links:
        raise error("nvmlDeviceGetNvLinkState", pynvml.NVML_ERROR_NOT_SUPPORTED)
    up = sum(bool(caller("nvmlDeviceGetNvLinkState", link)) for link in range(links))
    new = driver_branch >= NVLINK_5_BRANCH
    totals = read(caller, [Field(TRANSMITTED_KIB, ALL_LINKS), Field(RECEIVED_KIB, ALL_LINKS)])
    types = ERRORS | (ERRORS_NVLINK_5 if new else {})
    fields = [*types.values(), *((TRANSMITTED_BYTES, RECEIVED_BYTES) if new and not totals else ())]
    each = read(caller, [Field(field, link) for field in fields for link in range(links)])
    sums: dict[int, int] = {}
    for field, answer in each.items():
        sums[field.id] = sums.get(field.id, 0) + answer.value
    kib = {field.id: answer.value * KIBIBYTE for field, answer in totals.items()}
    return NvLink(
        links=links,
        up=up,
        transmitted=kib.get(TRANSMITTED_KIB, sums.get(TRANSMITTED_BYTES)),
        received=kib.get(RECEIVED_KIB, sums.get(RECEIVED_BYTES)),
        errors={name: sums[field] for name, field in types.items() if field in sums},
    )


def _count(caller: Caller) -> int:
    return caller.once("links", lambda: _told(caller) or _walked(caller))


def _told(caller: Caller) -> int | None:
    field = Field(LINK_COUNT)
    found = read(caller, [field])
    # NVML_NVLINK_MAX_LINKS is the array's bound and no GPU's count.
    return min(found[field].value, pynvml.NVML_NVLINK_MAX_LINKS) if field in found else None


def _walked(caller: Caller) -> int:
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            caller("nvmlDeviceGetNvLinkState", link)
        except UnsupportedError:
            return link
        except TransientError as failure:
            if failure.code == pynvml.NVML_ERROR_INVALID_ARGUMENT:
                return link
            raise
    return int(pynvml.NVML_NVLINK_MAX_LINKS)
