"""Log lines for a person or a collector, in logfmt or JSON, on standard error."""

import json
import logging
import re
import sys
import time
from typing import Literal

LogFormat = Literal["logfmt", "json"]
LEVELS = ("debug", "info", "warning", "error")
_QUOTED = re.compile(r"[\s\"=\\]")


class _Formatter(logging.Formatter):
    def __init__(self, style: LogFormat) -> None:
        super().__init__()
        self._log_format = style

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "ts": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "component": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        if self._log_format == "json":
            return json.dumps(fields)
        return " ".join(f"{key}={_logfmt(value)}" for key, value in fields.items())


def _logfmt(value: str) -> str:
    if value and value.isprintable() and not _QUOTED.search(value):
        return value
    # Control characters from a server's answer must not reach the terminal of whoever reads the log.
    return json.dumps(value, ensure_ascii=not value.isprintable())


def configure(level: str = "info", style: LogFormat = "logfmt") -> None:
    """Send this process's log lines to standard error, replacing what was configured before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(style))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # urllib3 logs each connection, APScheduler each job, and at WARNING each that is late; ours say it better.
    for chatty, least in (("urllib3", logging.WARNING), ("apscheduler", logging.ERROR)):
        logging.getLogger(chatty).setLevel(max(least, logging.getLogger().level))
