"""The one target that environment variables describe, used when the file names none."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from inferwatch.strict_yaml import Path

ENV_URL = "INFERWATCH_TARGET_URL"
ENV_MODEL = "INFERWATCH_TARGET_MODEL"
ENV_METRICS_URL = "INFERWATCH_TARGET_METRICS_URL"
ENV_API_KEY_FILE = "INFERWATCH_TARGET_API_KEY_FILE"
ENV_TARGET_NAME = "default"
NO_METRICS = "none"
# The key of a target -> the variable that it comes from.
VARIABLES = {"url": ENV_URL, "model": ENV_MODEL, "metrics": ENV_METRICS_URL, "auth": ENV_API_KEY_FILE}


def target_from(environ: Mapping[str, str]) -> dict[str, object] | None:
    """Return the target as the file would hold it, or None without a URL; an empty variable counts as unset."""
    url, model, metrics, key_file = (environ.get(variable, "").strip() for variable in VARIABLES.values())
    if not url:
        return None
    target: dict[str, object] = {"name": ENV_TARGET_NAME, "url": url}
    if not metrics:
        # Servers that are watched this way nearly always answer /metrics beside /v1.
        target["metrics"] = _beside(url)
    elif metrics.lower() != NO_METRICS:
        target["metrics"] = [metrics]
    if model:
        target["model"] = model
    if key_file:
        target["auth"] = {"bearer_file": key_file}
    return target


def _beside(url: str) -> list[str]:
    """Return [``http://host:8000/metrics``] for ``http://host:8000/v1``; nothing for a text that is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    return [f"{parts.scheme}://{parts.netloc}/metrics"] if parts.scheme in ("http", "https") and parts.netloc else []


def sentence(path: Path, text: str) -> str:
    """Return what is wrong at a path of the target, which no line of the file holds, under the variable's name."""
    key = str(path[2]) if len(path) > 2 else "url"
    return f"{VARIABLES.get(key, ENV_URL)}: {text}"


def without_url(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that are set although the URL, without which they mean nothing, is not."""
    if environ.get(ENV_URL, "").strip():
        return []
    return [variable for variable in VARIABLES.values() if environ.get(variable, "").strip()]
