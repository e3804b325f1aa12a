"""Writes samples into a running Prometheus by its remote-write protocol, version 1.0.

Messages: github.com/prometheus/prometheus, prompb/remote.proto and types.proto, packed by hand since nothing else here
needs protobuf. They go as one literal of snappy, uncompressed: over loopback, packing would cost more than it saves.
"""

import struct
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence

# Of one request, so that neither side holds much at once.
BATCH_BYTES = 4_000_000
_LABELS, _SAMPLES = 1, 2


def _varint(value: int) -> bytes:
    packed = bytearray()
    while value > 0x7F:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    packed.append(value)
    return bytes(packed)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


class Times:
    """When the samples of many series were taken; packs one series after the other.

    Args:
        seconds: Unix time of each sample, in order.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        self._moments = [b"\x10" + _varint(round(1000 * at)) for at in seconds]
        parts = "".join(f"3s d {len(moment)}s " for moment in self._moments)
        self._packed = struct.Struct(f"< {parts}")
        # Tag and length of the sample, and the tag of its value, which is a little-endian double.
        self._heads = [bytes([_SAMPLES << 3 | 2, 9 + len(moment), 0x09]) for moment in self._moments]

    def series(self, labels: Mapping[str, str], values: Sequence[float]) -> bytes:
        """Return a series with a value for each of the times, as a part of a request."""
        named = b"".join(
            _field(_LABELS, _field(1, name.encode()) + _field(2, value.encode()))
            for name, value in sorted(labels.items())
        )
        flat = [part for sample in zip(self._heads, values, self._moments, strict=True) for part in sample]
        return _field(1, named + self._packed.pack(*flat))


def send(url: str, series: Iterable[bytes]) -> None:
    """Send packed series to a Prometheus that runs with --web.enable-remote-write-receiver.

    Raises:
        RuntimeError: If it refuses some of them.
    """
    batch, size = [], 0
    for one in series:
        batch.append(one)
        size += len(one)
        if size > BATCH_BYTES:
            _post(url, b"".join(batch))
            batch, size = [], 0
    if batch:
        _post(url, b"".join(batch))


def _post(url: str, message: bytes) -> None:
    literal = b"\xfc" + struct.pack("<I", len(message) - 1)
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    request = urllib.request.Request(f"{url}/api/v1/write", _varint(len(message)) + literal + message, headers)
    try:
        with urllib.request.urlopen(request, timeout=120):
            pass
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"Prometheus refuses samples: {error.read().decode(errors='replace')}") from error
