"""Bytes of newline-delimited JSON -> lines, however the bytes are cut; only LF ends a line."""

from exporters.probe.failures import StreamFormatError

LONGEST_LINE = 1 << 20


class LineSplitter:
    """Splits a stream fed in any pieces; empty lines are left out.

    Args:
        longest: The largest number of bytes that one line may hold.
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete; raises StreamFormatError if one is longer than allowed."""
        end = data.rfind(b"\n")
        if end < 0:
            self._rest += data
            lines = []
        else:
            whole = bytes(self._rest) + data[:end]
            self._rest = bytearray(data[end + 1 :])
            lines = whole.split(b"\n")
        if max(map(len, [*lines, self._rest])) > self._longest:
            raise StreamFormatError(f"a line is longer than {self._longest} bytes")
        return [line for line in lines if line.strip()]

    def flush(self) -> list[bytes]:
        """Return the last line if the end of the stream left it without its line end."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest.strip() else []
