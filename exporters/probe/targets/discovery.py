"""What Prometheus should scrape, as its HTTP service discovery wants it."""

import json
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from exporters.probe.targets.engine_kinds import EngineKinds
from inferwatch.config import Config, Target
from inferwatch.exposition import JSON, Request, Response

Groups = list[dict[str, object]]


def engines(config: Config, kinds: EngineKinds, model_of: Callable[[Target], str], auth: str | None = None) -> Groups:
    """Return the target groups of the job `llm-engine`: one per metrics address.

    Args:
        config: The configuration in force.
        kinds: Knows which engine is at each address.
        model_of: Returns the name of the model that a target's probes ask for.
        auth: Only targets with this `metrics_auth`; None are those whose metrics need no key.
    """
    return [
        {"targets": [instance(url)], "labels": _labels(target, url, kinds, model_of(target))}
        for target in config.targets
        if target.metrics_auth == auth
        for url in target.metrics
    ]


def _labels(target: Target, url: str, kinds: EngineKinds, model: str) -> dict[str, str]:
    parts = urlsplit(url)
    labels = {"target": target.name, "__scheme__": parts.scheme, "__metrics_path__": parts.path}
    if target.gpus is not None and target.gpus.node is not None:
        labels["node"] = target.gpus.node
    kind = kinds.at(target, url)
    # On an engine with a label of its own, ours would turn that one into exported_model_name.
    if kind is not None and not kind.engine.own_model_name and model:
        labels["model_name"] = model
    return labels


def instance(url: str) -> str:
    """Return the host and port of a URL as Prometheus writes them, an IPv6 address in brackets."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def gpus(config: Config) -> Groups:
    """Return the target groups of the job `gpu` beside the stack's own exporter."""
    return [{"targets": [exporter.address], "labels": {"node": exporter.node}} for exporter in config.gpu_exporters]


def answer(
    config: Callable[[], Config | None], groups: Callable[[Config, Request], Groups]
) -> Callable[[Request], Response]:
    """Return a route that serves groups as JSON.

    Without a configuration it answers 503: Prometheus then keeps what it has, while it would drop all on an empty list.
    """

    def route(request: Request) -> Response:
        in_force = config()
        if in_force is None:
            text = "no configuration was ever good; see the log and llm_probe_exporter_config_last_reload_successful\n"
            return Response(text, status=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(json.dumps(groups(in_force, request), indent=1) + "\n", JSON)

    return route
