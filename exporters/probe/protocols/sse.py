"""Bytes of a `text/event-stream` -> events, however the bytes are cut (WHATWG HTML, section 9.2.6).

Lines are split on bytes: `str.splitlines` would also split on U+2028, which JSON may hold unescaped.
"""

import re
from typing import NamedTuple

from exporters.probe.failures import StreamFormatError

LONGEST_EVENT = 1 << 20
_LINE_END = re.compile(rb"\r\n?|\n")
_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event: its type ("" when unnamed) and its data, as UTF-8 bytes."""

    type: str
    data: bytes


class SseSplitter:
    """Splits a stream fed in any pieces; an event is given as soon as the line end that closes it has come.

    Args:
        longest: The largest number of bytes that one line, and the data of one event, may hold.
    """

    def __init__(self, longest: int = LONGEST_EVENT) -> None:
        self._longest = longest
        self._rest = bytearray()  # a line whose end has not come yet
        self._first_line = True
        self._after_cr = False
        self._type = ""
        self._data: list[bytes] = []
        self._data_size = 0

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that these bytes complete.

        Raises:
            StreamFormatError: If a line or an event is longer than allowed.
        """
        if data and self._after_cr:
            # That CR has ended its line already; the LF behind it is part of that end.
            self._after_cr = False
            data = data.removeprefix(b"\n")
        # Nearly every server ends lines with LF alone, which needs no expression.
        first, *lines = _LINE_END.split(data) if b"\r" in data else data.split(b"\n")
        self._rest += first
        if lines:
            whole, self._rest = bytes(self._rest), bytearray(lines.pop())
            lines.insert(0, whole)
        if len(self._rest) > self._longest:
            raise StreamFormatError(f"a line is longer than {self._longest} bytes")
        self._after_cr |= data.endswith(b"\r")
        return [event for line in lines if (event := self._line(line)) is not None]

    def flush(self) -> list[ServerSentEvent]:
        """Return the event that the end of the stream left without its closing blank line, if its line is whole.

        The specification drops it; the clients that users run do not, and some servers end with a bare `[DONE]` line.
        """
        event = self._dispatch()
        return [event] if event is not None else []

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if len(line) > self._longest:
            raise StreamFormatError(f"a line is longer than {self._longest} bytes")
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_size += len(value)
            if self._data_size > self._longest:
                raise StreamFormatError(f"an event is longer than {self._longest} bytes")
        elif field == b"event":
            self._type = value.decode("utf-8", "replace")
        elif field == b"error":
            # llama.cpp sent its errors in such a field until 2025, which no client but its own looks at.
            self._type = "error"
            self._data.append(value)
        # An empty field name is a comment (keep-alive); id and retry mean nothing to a probe.
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        if not self._data:
            self._type = ""
            return None
        event = ServerSentEvent(self._type, b"\n".join(self._data))
        self._type, self._data, self._data_size = "", [], 0
        return event
