"""Which models a server lists, for targets whose configuration names none."""

import json

from exporters.probe.asking.reader import get
from exporters.probe.asking.transcript import Transcript
from exporters.probe.failures import ProbeError
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.protocols.base import LONGEST_LABEL, label
from exporters.probe.redaction import Redaction
from exporters.probe.wire.way import way_to
from inferwatch.config import Target
from inferwatch.secrets import SecretError, auth_headers

LARGEST_LIST = 4 << 20


def served_models(target: Target, timeout: float, transcript: Transcript | None = None) -> list[str]:
    """Return the models that the server lists, in its order; at least one.

    Args:
        target: The endpoint.
        timeout: Limit on the whole request in seconds.
        transcript: Where the request and its answer are noted, for a person who asks to see them.

    Raises:
        ProbeError: An InferwatchError that says what is wrong, with the outcome that a probe would have.
    """
    protocol = PROTOCOLS[target.api]
    url = target.url + protocol.models_path
    try:
        auth = auth_headers(target.auth)
    except SecretError as error:
        raise ProbeError("auth", str(error)) from None
    headers = {"Accept": "application/json", **protocol.headers, **auth}
    try:
        exchanges = transcript.exchanges if transcript is not None else None
        body = get(url, headers, timeout, LARGEST_LIST, way_to(target), exchanges)
    except ProbeError as error:
        # A server that is silent on its list would be silent on a probe.
        outcome = "ttft_timeout" if error.outcome == "deadline" else error.outcome
        raise ProbeError(outcome, f"listing the models: {error}", error.status_code, error.retry_after) from None
    listed = _ids(body)
    # The name becomes a label; a server that echoes our key as one lists no model.
    redaction = Redaction.of(target, auth.values())
    models = [name for name in listed if label(name) and redaction.known(name) == name]
    if not models:
        fit = f" whose name is printable and at most {LONGEST_LABEL} characters long" if listed else ""
        raise ProbeError("not_found", f"{url} lists no model{fit}; write model: for target {target.name}")
    return models


def _ids(body: bytes) -> list[str]:
    try:
        answer = json.loads(body)
        # OpenAI and Anthropic list ids under data, Ollama names under models.
        listed, key = (answer["data"], "id") if "data" in answer else (answer["models"], "name")
        return [entry[key] for entry in listed if isinstance(entry[key], str) and entry[key]]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ProbeError(
            "not_stream", "the answer of /models is no list of models; check that url: is the API, or write model:"
        ) from None
