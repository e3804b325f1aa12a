"""How others read a stream: `python other_readers.py READER WARM_URL URL STREAMS`, where their libraries are installed.

Run by bench.probe_accuracy with the Python of a throw-away environment; it imports nothing of ours. It prints JSON: the
error of each event in ms, and the processor time in seconds.
"""

import asyncio
import importlib
import json
import sys
import time
from typing import Any

BODY = {"model": "stamped-model", "messages": [{"role": "user", "content": "go"}], "stream": True}
ERRORS: list[float] = []


def note(at: float, line: bytes) -> None:
    """Keep the error of an event that came `at`, if it holds a stamp."""
    if b"sent_ns" in line:
        ERRORS.append(1000 * at - json.loads(line.removeprefix(b"data: "))["sent_ns"] / 1e6)


async def read_openai(url: str, streams: int) -> None:
    """Read with the client of openai."""
    client = importlib.import_module("openai").AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def one() -> None:
        async for chunk in await client.chat.completions.create(**BODY):
            at = time.perf_counter()
            sent = (chunk.model_extra or {}).get("sent_ns")
            if sent is not None:
                ERRORS.append(1000 * at - sent / 1e6)

    await asyncio.gather(*(one() for _ in range(streams)))


async def read_httpx(url: str, streams: int) -> None:
    """Read lines with httpx."""
    httpx = importlib.import_module("httpx")
    limits = httpx.Limits(max_connections=streams)

    async with httpx.AsyncClient(limits=limits, timeout=120) as client:

        async def one() -> None:
            async with client.stream("POST", f"{url}/chat/completions", json=BODY) as answer:
                async for line in answer.aiter_lines():
                    note(time.perf_counter(), line.encode())

        await asyncio.gather(*(one() for _ in range(streams)))


async def read_aiohttp(url: str, streams: int) -> None:
    """Read lines with aiohttp."""
    aiohttp = importlib.import_module("aiohttp")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=streams)) as session:

        async def one() -> None:
            async with session.post(f"{url}/chat/completions", json=BODY) as answer:
                async for line in answer.content:
                    note(time.perf_counter(), line.strip())

        await asyncio.gather(*(one() for _ in range(streams)))


READERS: dict[str, Any] = {"openai": read_openai, "httpx": read_httpx, "aiohttp": read_aiohttp}


def main(reader: str, warm: str, url: str, streams: str) -> None:
    """Read a fast stream, so that imports and first uses are over, then measure."""
    asyncio.run(READERS[reader](warm, 1))
    ERRORS.clear()
    before = time.process_time()
    asyncio.run(READERS[reader](url, int(streams)))
    json.dump({"errors": ERRORS, "cpu": time.process_time() - before}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
