"""Which services are up: the page asks each for its health and believes the supervisor about children that ended."""

import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import requests
import urllib3
from pydantic import BaseModel, TypeAdapter, ValidationError

from stack.page.services import Service

State = Literal["up", "starting", "down", "off", "unknown"]
TIMEOUT = 2.0
OLD_AFTER = 60.0
LARGEST_ANSWER = 4096


class Child(BaseModel):
    """What the supervisor says about one child."""

    state: Literal["starting", "up", "ended"]
    pid: int | None = None
    exit_code: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class Poll:
    """One answer of a service, or none; `absent` says that nothing listens there at all."""

    at: float
    healthy: bool
    reason: str = ""
    absent: bool = False


@dataclass(frozen=True)
class ServiceState:
    """One line of the page's list of services."""

    name: str
    title: str
    state: State
    reason: str = ""
    url: str | None = None
    note: str = ""


_children = TypeAdapter(dict[str, Child])


def poll(service: Service) -> Poll | None:
    """Ask a service for its health; None when the file names no address for that."""
    if service.health_url is None:
        return None
    healthy, reason, absent = _ask(service.health_url)
    return Poll(time.time(), healthy, reason, absent)


def _ask(url: str) -> tuple[bool, str, bool]:
    try:
        with requests.Session() as session:
            # These are parts of our own stack: no proxy lies between.
            session.trust_env = False
            with session.get(url, timeout=TIMEOUT, stream=True) as answer:
                if answer.ok:
                    return True, "", False
                said = answer.raw.read(LARGEST_ANSWER, decode_content=True).decode("utf-8", "replace").strip()
                return False, f"answers {answer.status_code}" + (f": {said[:200]}" if said else ""), False
    except requests.Timeout:
        return False, f"does not answer within {TIMEOUT:g} s", False
    except requests.ConnectionError as error:
        reason, absent = _refusal(error)
        return False, reason, absent
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        return False, f"cannot be asked at {url}: {type(error).__name__}", False


def _refusal(error: Exception) -> tuple[str, bool]:
    """Return the reason, and whether nothing is there at all."""
    text = repr(error)
    if "NameResolution" in text:
        return "is not there: its host name does not resolve", True
    if "refused" in text:
        return "is not there: the connection is refused", True
    return "does not answer: the connection broke", False


def read_children(status_file: str | None) -> tuple[dict[str, Child], str]:
    """Return the supervisor's children by name, and a sentence if its file cannot be used."""
    if status_file is None:
        return {}, ""
    try:
        return _children.validate_json(Path(status_file).read_bytes()), ""
    except FileNotFoundError:
        return {}, f"The supervisor's status file {status_file} does not exist (yet)."
    except OSError as error:
        return {}, f"The supervisor's status file {status_file} cannot be read: {error.strerror}."
    except (ValidationError, json.JSONDecodeError):
        return {}, f"The supervisor's status file {status_file} holds no valid state."


def judge(service: Service, last: Poll | None, child: Child | None, now: float) -> ServiceState:
    """Merge what the supervisor and the last poll say about a service.

    A child that ended is down with its reason, whatever else still answers on its address.
    """
    state, reason = _judge(service, last, child, now)
    return ServiceState(service.name, service.shown_title, state, reason, service.public_url, service.note)


def _judge(service: Service, last: Poll | None, child: Child | None, now: float) -> tuple[State, str]:
    if child is not None and child.state == "ended":
        return "down", ending(child)
    if last is None:
        if service.health_url is None and child is not None:
            return ("up", "") if child.state == "up" else ("starting", child.detail)
        return "unknown", "not asked yet" if service.health_url else "nothing tells whether it runs"
    if now - last.at > OLD_AFTER:
        return "unknown", f"last asked {now - last.at:.0f} s ago"
    if last.healthy:
        return "up", ""
    if child is not None and child.state == "starting":
        return "starting", child.detail
    if service.optional and last.absent:
        return "off", "not started" + (f" ({service.start_with})" if service.start_with else "")
    return "down", last.reason


def ending(child: Child) -> str:
    """Say how a child ended: ``ended with exit code 1: port 9090 is taken``."""
    if "exit code" in child.detail or "signal" in child.detail:
        return child.detail
    if child.exit_code is None:
        how = "ended"
    elif child.exit_code < 0:
        try:
            how = f"was ended by {signal.Signals(-child.exit_code).name}"
        except ValueError:
            how = f"was ended by signal {-child.exit_code}"
    else:
        how = f"ended with exit code {child.exit_code}"
    return f"{how}: {child.detail}" if child.detail else how


class Health:
    """The last poll of every service and the supervisor's children, merged when read."""

    def __init__(self, services: list[Service], status_file: str | None) -> None:
        self._services = services
        self._status_file = status_file
        self._lock = threading.Lock()
        self._polls: dict[str, Poll] = {}

    def refresh(self) -> None:
        """Ask every service anew, all at once; each answer counts when it is there."""
        if self._services:
            workers = min(16, len(self._services))
            with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="health") as pool:
                list(pool.map(self._ask, self._services))

    def _ask(self, service: Service) -> None:
        found = poll(service)
        if found is not None:
            with self._lock:
                self._polls[service.name] = found

    def states(self, now: float) -> tuple[list[ServiceState], str]:
        """Return each service, and children that the services file does not list, and a sentence if need be."""
        children, trouble = read_children(self._status_file)
        with self._lock:
            polls = dict(self._polls)
        states = [judge(one, polls.get(one.name), children.get(one.name), now) for one in self._services]
        listed = {service.name for service in self._services}
        states += [
            judge(Service(name=name), None, child, now) for name, child in children.items() if name not in listed
        ]
        return states, trouble
