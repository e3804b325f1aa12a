"""The few questions that the page asks Prometheus's and Alertmanager's HTTP API."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests

from inferwatch.errors import InferwatchError

TIMEOUT = 4.0
# Four scrapes of 15 s and a little: what is older is not shown as a present value.
FRESH = "75s"


class UnreachableError(InferwatchError):
    """An API gave no usable answer; the text says which and why."""


@dataclass(frozen=True)
class Sample:
    """One series' value, whose `name` is its metric's."""

    name: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class Samples:
    """Fresh samples by metric name, and the time by Prometheus's clock at which they were read."""

    at: float
    by_name: dict[str, list[Sample]] = field(default_factory=dict)

    def of(self, name: object, /, **labels: str) -> list[Sample]:
        """Return the samples of a metric whose labels have these values."""
        found = self.by_name.get(str(name), [])
        return [one for one in found if all(one.labels.get(key) == value for key, value in labels.items())]


@dataclass(frozen=True)
class Alert:
    """One alert as Prometheus or Alertmanager holds it.

    Attributes:
        state: pending, firing, or, by Alertmanager's word, silenced or inhibited.
        since: Unix time at which it began.
    """

    labels: dict[str, str]
    annotations: dict[str, str]
    state: str
    since: float | None

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.labels.get("alertname", "unnamed")

    @property
    def severity(self) -> str:
        """page, ticket, info or none."""
        return self.labels.get("severity", "")


class Prometheus:
    """Asks one Prometheus; used by one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.trust_env = False

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def query(self, promql: str) -> tuple[list[Sample], float]:
        """Return an instant vector and the time of its evaluation.

        Raises:
            UnreachableError: If there is no usable answer.
        """
        data = self._get("/api/v1/query", {"query": promql})
        try:
            result = data["result"]
            at = float(result[0]["value"][0]) if result else 0.0
            return [_sample(one["metric"], one["value"][1]) for one in result], at
        except (KeyError, IndexError, TypeError, ValueError):
            raise UnreachableError(f"what answers at {self._url} is no Prometheus") from None

    def fresh(self, names: Iterable[str]) -> Samples:
        """Return the present samples of these metrics, without any that is older than `FRESH`.

        The instant selector leaves out series that have ended but reaches five minutes back; the range selector
        knows what is recent but keeps series that have ended. What both hold is fresh.

        Raises:
            UnreachableError: If there is no usable answer.
        """
        selector = '{__name__=~"' + "|".join(sorted(set(names))) + '"}'
        present, at = self.query(selector)
        recent = {_key(one.name, one.labels) for one in self._recent(f"{selector}[{FRESH}]")}
        samples = Samples(at)
        for one in present:
            if _key(one.name, one.labels) in recent:
                samples.by_name.setdefault(one.name, []).append(one)
        return samples

    def alerts(self) -> list[Alert]:
        """Return the pending and firing alerts.

        Raises:
            UnreachableError: If there is no usable answer.
        """
        data = self._get("/api/v1/alerts", {})
        try:
            return [
                Alert(dict(one["labels"]), dict(one["annotations"]), str(one["state"]), parse_time(one.get("activeAt")))
                for one in data["alerts"]
            ]
        except (KeyError, TypeError, ValueError):
            raise UnreachableError(f"what answers at {self._url} is no Prometheus") from None

    def _recent(self, promql: str) -> list[Sample]:
        data = self._get("/api/v1/query", {"query": promql})
        try:
            return [_sample(one["metric"], one["values"][-1][1]) for one in data["result"]]
        except (KeyError, IndexError, TypeError, ValueError):
            raise UnreachableError(f"what answers at {self._url} is no Prometheus") from None

    def _get(self, path: str, parameters: dict[str, str]) -> Any:
        answer = ask_json(self._session, self._url, path, parameters, "Prometheus")
        if not isinstance(answer, dict) or answer.get("status") != "success":
            reason = answer.get("error") if isinstance(answer, dict) else None
            raise UnreachableError(f"Prometheus at {self._url} refuses the query: {reason or 'it gives no reason'}")
        return answer.get("data")


def alertmanager_alerts(url: str) -> list[Alert]:
    """Return the alerts that Alertmanager holds; those that it holds back have the state silenced or inhibited.

    Raises:
        UnreachableError: If there is no usable answer.
    """
    with requests.Session() as session:
        session.trust_env = False
        answer = ask_json(session, url, "/api/v2/alerts", {}, "Alertmanager")
    try:
        return [
            Alert(
                dict(one["labels"]),
                dict(one["annotations"]),
                _state(one["status"]),
                parse_time(one.get("startsAt")),
            )
            for one in answer
        ]
    except (KeyError, TypeError, ValueError):
        raise UnreachableError(f"what answers at {url} is no Alertmanager") from None


def _state(status: dict[str, Any]) -> str:
    if status["state"] == "active":
        return "firing"
    if status["state"] == "suppressed":
        return "silenced" if status.get("silencedBy") else "inhibited"
    return "pending"


def ask_json(session: requests.Session, url: str, path: str, parameters: dict[str, str], who: str) -> Any:
    """GET a JSON document; `who` names the asked one in errors.

    Raises:
        UnreachableError: If there is no answer, or none that is JSON.
    """
    try:
        answer = session.get(url + path, params=parameters, timeout=TIMEOUT)
        return answer.json()
    except requests.Timeout:
        raise UnreachableError(f"{who} at {url} does not answer within {TIMEOUT:g} s") from None
    except requests.JSONDecodeError:
        raise UnreachableError(f"{who} at {url} answers {answer.status_code} with no JSON") from None
    except (requests.RequestException, ValueError) as error:
        reason = "the connection is refused" if "refused" in repr(error) else type(error).__name__
        raise UnreachableError(f"{who} at {url} does not answer: {reason}") from None


def parse_time(text: object) -> float | None:
    """Return the Unix time of an RFC 3339 text, or None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _sample(metric: dict[str, str], value: str) -> Sample:
    labels = {key: value for key, value in metric.items() if key != "__name__"}
    return Sample(metric.get("__name__", ""), labels, float(value))


def _key(name: str, labels: dict[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())
