"""Simulated users: a light load in waves, so that the demo has tokens, a queue and a cost beside the probes."""

import argparse
import itertools
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

# A wave is larger than what the server serves at a time, so that some of it waits, and short, so that cores stay free.
# Wave and pause together are no multiple of the scrape interval, or every scrape would see the same moment of a wave.
USERS = 6
ANSWER_TOKENS = 64
PAUSE_SECONDS = 25.0
TIMEOUT_SECONDS = 60.0
QUESTIONS = (
    "Name three rivers and the seas that they flow into.",
    "Explain in two sentences why the sky is blue.",
    "Write a short greeting for a colleague who comes back from holiday.",
    "What should I check before I lend my bicycle to a friend?",
    "Suggest a dinner from rice, eggs and spinach.",
    "Tell me about a lighthouse keeper's day.",
)


def ask(url: str, model: str, question: str, user: int) -> int:
    """Ask one question as one user and return how many tokens the answer had.

    Raises:
        requests.RequestException: If the server does not answer, or not with 200.
    """
    answer = requests.post(
        f"{url}/chat/completions",
        json={
            "model": model,
            "messages": [{"role": "user", "content": question}],
            "max_tokens": ANSWER_TOKENS,
            "user": f"simulated-user-{user}",
        },
        headers={"User-Agent": "inferwatch-simulated-user"},
        timeout=TIMEOUT_SECONDS,
    )
    answer.raise_for_status()
    return int(answer.json()["usage"]["completion_tokens"])


def wave(url: str, model: str, chooser: random.Random, pool: ThreadPoolExecutor) -> str:
    """Let every user ask once, at about the same time, and return a sentence for the log."""
    began = time.monotonic()
    pending = [pool.submit(ask, url, model, chooser.choice(QUESTIONS), user) for user in range(USERS)]
    tokens, errors = 0, []
    for one in pending:
        try:
            tokens += one.result()
        except (requests.RequestException, KeyError, ValueError) as error:
            errors.append(type(error).__name__)
    failed = f", {len(errors)} failed ({', '.join(sorted(set(errors)))})" if errors else ""
    return f"{USERS} simulated users got {tokens} tokens in {time.monotonic() - began:.1f} s{failed}"


def main() -> None:
    """Send waves until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m stack.demo.users", description=__doc__, allow_abbrev=False)
    parser.add_argument("--url", required=True, help="the server's OpenAI base URL, ending in /v1")
    parser.add_argument("--model", required=True)
    parser.add_argument(
        "--heartbeat", type=Path, help="a file to touch after each wave, for a container's health check"
    )
    given = parser.parse_args()
    # Process 1 of a container ends on SIGTERM only if it asks to; there is nothing to save.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    chooser = random.Random()  # noqa: S311 - which question is asked is no secret
    pause = threading.Event()
    with ThreadPoolExecutor(USERS) as pool:
        for number in itertools.count(1):
            print(f"wave {number}: {wave(given.url, given.model, chooser, pool)}", file=sys.stderr, flush=True)
            if given.heartbeat:
                given.heartbeat.touch()
            pause.wait(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
