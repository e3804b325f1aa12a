"""What a capture of an engine or a gateway is expected to become."""

from dataclasses import dataclass, field

from rules_replay import SECONDS, Labels, Replay, capture, from_zero

from inferwatch.engines import load_engines
from prometheus import vocabulary as names

SCRAPED = {"target": "t", "instance": "host:1"}


@dataclass(frozen=True)
class Case:
    """One capture, or two: after, and the one whose gauges hold; or three: before, after, and that one.

    Attributes:
        engine: The engine file.
        captures: Files in fixtures. Without the first, counters grow from 0; with a single one, its gauges hold.
        model_name: The label that is expected on what is recorded.
        given: The same as a label that discovery sets, for an engine that does not name its model.
        expected: Recorded name without prefix, with a selector for `reason` -> value.
        other_labels: Name -> the labels that it has instead of target, instance and model.
        latencies: Latency -> the engine's histogram, and the labels of its series that count.
    """

    engine: str
    captures: tuple[str, ...]
    model_name: str
    expected: dict[str, float]
    given: Labels = field(default_factory=dict)
    other_labels: dict[str, Labels] = field(default_factory=dict)
    latencies: dict[str, tuple[str, Labels]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.captures[-1].removesuffix(".prom")

    @property
    def prefix(self) -> str:
        return names.prefix(load_engines()[self.engine].kind)

    @property
    def stamp(self) -> Labels:
        return {f"inference_{load_engines()[self.engine].kind}": self.engine}

    def replay(self) -> Replay:
        captured = [capture(file) for file in self.captures]
        *first, last, held = captured if len(captured) > 1 else captured * 2
        return Replay(
            first[0] if first else from_zero(last),
            last,
            held,
            {"job": "llm-engine"} | SCRAPED | self.given,
            load_engines()[self.engine].relabel,
        )

    def labels_of(self, name: str) -> Labels:
        if name in self.other_labels:
            return self.other_labels[name] | self.stamp
        reason = {"reason": name.split('"')[1]} if "{" in name else {}
        return SCRAPED | {"model_name": self.model_name} | self.stamp | reason


def tokens(prompt: float, output: float) -> dict[str, float]:
    """Return what these tokens, in the whole course, are recorded as."""
    return {
        "prompt_tokens:rate5m": prompt / SECONDS,
        "prompt_tokens:increase1h": prompt,
        "output_tokens:rate5m": output / SECONDS,
        "output_tokens:increase1h": output,
    }


def finished(**reasons: float) -> dict[str, float]:
    """Return the rates of requests that ended for these reasons."""
    return {f'requests_finished:rate5m{{reason="{reason}"}}': count / SECONDS for reason, count in reasons.items()}


def rates(**counts: float) -> dict[str, float]:
    """Return the rates of what happened so often."""
    return {f"{name}:rate5m": count / SECONDS for name, count in counts.items()}


def kv(ratio: float) -> dict[str, float]:
    """Return the usage of a KV cache of one rank."""
    return {"kv_cache_usage_ratio:max": ratio, "kv_cache_usage_ratio:avg": ratio}
