"""The NVLinks of one GPU, added up or one by one."""

import pynvml

from exporters.gpu.answers import Link, NvLink
from exporters.gpu.errors import TransientError, UnsupportedError
from exporters.gpu.nvml.calls import Caller, error
from exporters.gpu.nvml.fields import ALL_LINKS, Field, FieldValue, read

KIBIBYTE = 1024
LINK_COUNT = 91
TRANSMITTED_KIB, RECEIVED_KIB = 138, 139
# In megabytes a second.
SPEED = 164
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


def together(caller: Caller, driver_branch: int) -> NvLink:
    """Return all links together.

    Raises:
        UnsupportedError: When there is no link.
    """
    links = _some(caller)
    up = sum(_up(caller, links))
    new = driver_branch >= NVLINK_5_BRANCH
    totals = read(caller, [Field(TRANSMITTED_KIB, ALL_LINKS), Field(RECEIVED_KIB, ALL_LINKS)])
    types = _types(driver_branch)
    fields = [*types.values(), *((TRANSMITTED_BYTES, RECEIVED_BYTES) if new and not totals else ())]
    sums: dict[int, int] = {}
    for field, answer in _of_each(caller, fields, links).items():
        sums[field.id] = sums.get(field.id, 0) + answer.value
    kib = {field.id: answer.value * KIBIBYTE for field, answer in totals.items()}
    return NvLink(
        links=links,
        up=up,
        transmitted=kib.get(TRANSMITTED_KIB, sums.get(TRANSMITTED_BYTES)),
        received=kib.get(RECEIVED_KIB, sums.get(RECEIVED_BYTES)),
        errors={name: sums[field] for name, field in types.items() if field in sums},
    )


def each(caller: Caller, driver_branch: int) -> list[Link]:
    """Return each link, by its number.

    Raises:
        UnsupportedError: When there is no link.
    """
    links = _some(caller)
    types = _types(driver_branch)
    found = _of_each(caller, [SPEED, *types.values()], links)

    def value(field: int, link: int) -> int | None:
        answer = found.get(Field(field, link))
        return None if answer is None else answer.value

    def errors(link: int) -> dict[str, int]:
        counts = {name: value(field, link) for name, field in types.items()}
        return {name: count for name, count in counts.items() if count is not None}

    return [Link(up, value(SPEED, link), errors(link)) for link, up in enumerate(_up(caller, links))]


def _some(caller: Caller) -> int:
    links = _count(caller)
    if not links:
        raise error("nvmlDeviceGetNvLinkState", pynvml.NVML_ERROR_NOT_SUPPORTED)
    return links


def _up(caller: Caller, links: int) -> list[bool]:
    return [bool(caller("nvmlDeviceGetNvLinkState", link)) for link in range(links)]


def _types(driver_branch: int) -> dict[str, int]:
    return ERRORS | (ERRORS_NVLINK_5 if driver_branch >= NVLINK_5_BRANCH else {})


def _of_each(caller: Caller, fields: list[int], links: int) -> dict[Field, FieldValue]:
    return read(caller, [Field(field, link) for field in fields for link in range(links)])


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
