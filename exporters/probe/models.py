"""Which models a server lists, for targets whose configuration names none."""

import json

from exporters.probe.failures import ProbeError
from exporters.probe.reader import get
from inferwatch.config import Target
from inferwatch.secrets import SecretError, auth_headers

LARGEST_LIST = 4 << 20


def served_models(target: Target, timeout: float) -> list[str]:
    """Return the ids that ``GET {url}/models`` lists, in its order; at least one.

    Args:
        target: The endpoint.
        timeout: Limit on the whole request in seconds.

    Raises:
        ProbeError: An InferwatchError that says what is wrong, with the outcome that a probe would have.
    """
    try:
        headers = {"Accept": "application/json", **auth_headers(target.auth)}
    except SecretError as error:
        raise ProbeError("auth", str(error)) from None
    try:
        body = get(target.url + "/models", headers, timeout, LARGEST_LIST)
    except ProbeError as error:
        # A server that is silent on its list would be silent on a probe.
        outcome = "ttft_timeout" if error.outcome == "deadline" else error.outcome
        raise ProbeError(outcome, f"listing the models: {error}", error.status_code) from None
    models = _ids(body)
    if not models:
        raise ProbeError("not_found", f"{target.url}/models lists no model; write model: for target {target.name}")
    return models


def _ids(body: bytes) -> list[str]:
    try:
        listed = json.loads(body)["data"]
        return [entry["id"] for entry in listed if isinstance(entry["id"], str) and entry["id"]]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ProbeError(
            "not_stream", "the answer of /models is no list of models; check that url: is the API, or write model:"
        ) from None
