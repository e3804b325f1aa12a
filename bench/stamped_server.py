"""A server of token streams in which every event holds the time at which it was sent: `python -m bench.stamped_server`.

A process of its own, so that it shares no interpreter with what it measures. On Linux `time.perf_counter_ns` is the
same clock in every process of a machine. It prints the ports of HTTP and, given a certificate, of HTTPS.

`POST /FRAMING/GAP_MS/EVENTS/v1/chat/completions` with the framings `chunked` and `close` (no length is announced, and
the end of the connection is the end of the body, as HTTP/1.0 proxies send it). With `-step` behind the framing, all
streams send at the same moments, as one engine's do that batches its requests. `GET .../v1/models` lists one model.
"""

import argparse
import asyncio
import itertools
import json
import ssl
import time

MODEL = "stamped-model"
# Streams begin spread over the gap, as probes of independent servers do, and not in step.
_GOLDEN = 0.618034
_turns = itertools.count()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next((line for line in head.split("\r\n") if line.lower().startswith("content-length:")), "0")
        await reader.readexactly(int(length.rpartition(":")[2]))
        parts = head.split(" ")[1].split("/")
        if len(parts) < 6:
            # The exporter looks at other addresses to find out which engine this is.
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        _, framing, gap_ms, events, _, *what = parts
        if what == ["models"]:
            body = json.dumps({"object": "list", "data": [{"id": MODEL}]})
            kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
            writer.write(f"HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\n\r\n{body}".encode())
            await writer.drain()
        else:
            kind, _, step = framing.partition("-")
            await _stream(writer, kind == "chunked", float(gap_ms) / 1000, int(events), in_step=step == "step")
    except (OSError, asyncio.IncompleteReadError):
        pass  # the client went
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, chunked: bool, gap: float, events: int, *, in_step: bool) -> None:
    def send(data: bytes) -> None:
        writer.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)

    framing = "Transfer-Encoding: chunked\r\n" if chunked else ""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}Connection: close\r\n\r\n"
    writer.write(head.encode())
    now = time.perf_counter()
    begin = gap * (now // gap + 2) if in_step else now + gap * (1 + next(_turns) * _GOLDEN % 1)
    for index in range(events):
        await asyncio.sleep(begin + index * gap - time.perf_counter())
        send(_event({"content": " token"}, None, stamped=True))
        await writer.drain()
    usage = {"prompt_tokens": 11, "completion_tokens": events, "total_tokens": 11 + events}
    send(_event({}, "stop") + b"data: %s\n\n" % json.dumps({"choices": [], "usage": usage}).encode())
    send(b"data: [DONE]\n\n")
    if chunked:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def _event(delta: dict[str, str], finish: str | None, *, stamped: bool = False) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    event: dict[str, object] = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "model": MODEL,
        "choices": [choice],
    }
    if stamped:
        # Last, so that next to nothing happens between the stamp and the send.
        event["sent_ns"] = time.perf_counter_ns()
    return b"data: %s\n\n" % json.dumps(event).encode()


async def _main(certificate: str | None) -> None:
    servers = [await asyncio.start_server(_serve, "127.0.0.1", 0)]
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        servers.append(await asyncio.start_server(_serve, "127.0.0.1", 0, ssl=context))
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", help="PEM file with the certificate and its key, for HTTPS")
    asyncio.run(_main(parser.parse_args().certificate))
