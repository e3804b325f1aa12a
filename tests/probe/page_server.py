"""A server of documents, as engines serve them about themselves beside their API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Server:
    """Answers what `pages` holds, and 307 to where `moved` says, else 404; with a key, 401 to those who lack it."""

    pages: dict[str, object] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    key: str | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def times(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.asked)


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a free port of 127.0.0.1 until the end."""
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization")
            told.asked.append((self.path, given))
            page = told.pages.get(self.path)
            status = 404 if page is None else 200
            if told.key is not None and given != f"Bearer {told.key}":
                status, page = 401, None
            location = told.moved.get(self.path)
            body = (page if isinstance(page, str) else json.dumps(page)).encode()
            self.send_response(status if location is None else 307)
            for name, value in (told.headers | ({} if location is None else {"Location": location})).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def version_string(self) -> str:
            return "test"

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        told.port = listening.server_port
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        yield told
        listening.shutdown()
        thread.join()
