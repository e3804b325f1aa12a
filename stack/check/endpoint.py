"""The API of a target: does it list its models, does it take the key, does it serve the model?"""

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.probe.failures import ProbeError
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.protocols.base import LONGEST_LABEL, label
from exporters.probe.wire.way import way_to
from inferwatch.config import Target
from stack.check.findings import Finding, fail, ok, warn
from stack.check.http import Answer, get
from stack.check.reach import speaks_tls

SHOWN_MODELS = 5
LLAMACPP = "llamacpp"
JSON = {"Accept": "application/json"}


@dataclass(frozen=True)
class Served:
    """What the server lists: ids in the server's order, and who it says owns them (llama.cpp names itself there)."""

    ids: tuple[str, ...]
    owners: frozenset[str]


def check_endpoint(target: Target, headers: Mapping[str, str]) -> list[Finding]:
    """Ask for the models and judge the answer; the server is known to accept connections."""
    try:
        answer = get(_list_url(target), {**_plain(target), **headers}, way_to(target))
    except ProbeError as error:
        return [_no_answer(target, error)]
    served = _served(answer) if answer.status == 200 else None
    if served is None:
        return [_unfit(target, headers, answer)]
    return [_access(target, headers), ok("api", f"{_list_url(target)} answers"), _model(target, served)]


def _list_url(target: Target) -> str:
    return target.url + PROTOCOLS[target.api].models_path


def _plain(target: Target) -> dict[str, str]:
    """Return the headers of a request without a key."""
    return {**JSON, **PROTOCOLS[target.api].headers}


def _access(target: Target, headers: Mapping[str, str]) -> Finding:
    """Say what the answer means for the key: some servers guard everything but their list of models."""
    if not headers:
        return ok("auth", f"{PROTOCOLS[target.api].models_path} asks for no key")
    try:
        public = get(_list_url(target), _plain(target), way_to(target)).status == 200
    except ProbeError:
        public = False
    if public:
        path = PROTOCOLS[target.api].models_path
        text = f"{path} answers without a key too, so that only a probe tells whether the key is right"
        return ok("auth", text, f"inferwatch probe {target.name}")
    return ok("auth", "the server takes the key")


def _served(answer: Answer) -> Served | None:
    """Return what a model list holds, or None where the answer is none."""
    data = answer.json
    # OpenAI and Anthropic list ids under data, Ollama names under models.
    held, key = ("data", "id") if isinstance(data, dict) and "data" in data else ("models", "name")
    entries = data.get(held) if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return None
    named = [one for one in entries if isinstance(one, dict) and isinstance(one.get(key), str)]
    return Served(tuple(one[key] for one in named), frozenset(str(one.get("owned_by")) for one in named))


def _no_answer(target: Target, error: ProbeError) -> Finding:
    if target.url.startswith("http://") and target.proxy is None and speaks_tls(target.url):
        return _use_https(target)
    return fail("api", str(error), "look at the server's log")


def _use_https(target: Target) -> Finding:
    return fail("api", "the server speaks TLS, not plain HTTP", f"write {target.url.replace('http://', 'https://', 1)}")


def _unfit(target: Target, headers: Mapping[str, str], answer: Answer) -> Finding:
    """Say what an answer without a model list means."""
    status = answer.status
    if status in (401, 403):
        if headers:
            return fail("auth", f"the server refuses the key ({status})", "check that the key in auth: is valid")
        return fail("auth", f"the server asks for a key ({status})", "write auth: with bearer_file or bearer_env")
    if status == 400 and target.url.startswith("http://") and target.proxy is None and speaks_tls(target.url):
        return _use_https(target)
    if 300 <= status < 400:
        return fail("api", f"the server redirects to {answer.location}", "write the final address in url:")
    if status == 429:
        return warn("api", "the server limits requests (429)", "probe less often, or raise the limit")
    if status >= 500:
        return fail("api", f"the server answers {status}", "look at the server's log")
    versioned = _with_version(target, headers)
    if versioned:
        return fail("api", f"{target.url} is not the API, {versioned} is", f"write url: {versioned}")
    if answer.is_page:
        return fail("api", f"{_list_url(target)} answers {status} with a web page", "write the address of the API")
    return _no_list(target, status)


def _with_version(target: Target, headers: Mapping[str, str]) -> str:
    """Return the URL with /v1, if that lists models and is not what is configured."""
    if target.url.endswith("/v1") or not target.api.startswith("openai"):
        return ""
    url = f"{target.url}/v1"
    try:
        answer = get(f"{url}/models", {**JSON, **headers}, way_to(target))
    except ProbeError:
        return ""
    # Behind a key the list cannot be seen, but an API that asks for one is there.
    there = answer.status in (401, 403) or (answer.status == 200 and _served(answer) is not None)
    return url if there else ""


def _no_list(target: Target, status: int) -> Finding:
    text = f"{_list_url(target)} answers {status} with no list of models"
    if target.model is None:
        return fail("api", text, "check url:, or write model: if this server lists none")
    return warn("api", text, f"try it: inferwatch probe {target.name}")


def _model(target: Target, served: Served) -> Finding:
    shown = ", ".join(served.ids[:SHOWN_MODELS]) + (", ..." if len(served.ids) > SHOWN_MODELS else "")
    if not served.ids:
        if target.model is None:
            return fail("model", "the server lists no model", "load one, or write model:")
        return warn("model", f"the server lists no model, so {target.model} is not confirmed", "load it")
    if target.model is None:
        first = next(filter(label, served.ids), None)
        if first is None:
            text = f"no model is listed by a name that is printable and at most {LONGEST_LABEL} characters long"
            return fail("model", text, "write model: with the one to probe")
        return ok("model", f"{first} is probed, the first that is served")
    if target.model in served.ids:
        return ok("model", f"{target.model} is served")
    if served.owners == {LLAMACPP}:
        text = f"{target.model} is not served; llama.cpp answers to any name, with {served.ids[0]}"
        return warn("model", text, f"write model: {served.ids[0]}, so that its series carry the right name")
    return fail("model", f"{target.model} is not served; served: {shown}", "write one of these in model:")
