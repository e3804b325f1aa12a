"""What an engine can tell, one row for each concept: how its series are put together, and what is recorded.

An engine file gives each concept the engine's own series, or says that the engine has none. Latencies are not listed
here: each engine file maps them to histograms, and all are recorded in the same way.
"""

from typing import NamedTuple

from inferwatch.engines import Engine, load_engines
from prometheus import vocabulary as v
from prometheus.promql import RATE_WINDOW

INSTANCE = ("target", "instance", "model_name")
_NO_MODEL = ("target", "instance")


class Concept(NamedTuple):
    """One concept.

    Attributes:
        suffixes: What is appended to its name -> how it is made: for a gauge the aggregation over ranks, for a counter
            the function and its window. A quotient and an info have one suffix and no choice.
        meaning: What it says, for docs/METRICS.md.
        labels: Its labels beside those of the instance.
        instance: Which labels of the instance it has.
    """

    suffixes: dict[str, str]
    meaning: str
    labels: tuple[str, ...] = ()
    instance: tuple[str, ...] = INSTANCE


_LORA = ("max_lora", "running_lora_adapters", "waiting_lora_adapters")
_CONFIG = tuple(
    sorted({label for one in load_engines().values() for info in one.info.values() for label in info.labels})
)
_RATE = {":rate5m": f"rate {RATE_WINDOW}"}
_RATE_AND_HOUR = _RATE | {":increase1h": "increase 1h"}
_SHARE = {":5m": ""}
_MEAN = {":mean_5m": ""}

CONCEPTS = {
    "requests_running": Concept({"": "sum"}, "Requests that the engine works on now."),
    "requests_waiting": Concept({"": "sum"}, "Queue depth: requests accepted by the engine and not yet scheduled."),
    "kv_cache_usage_ratio": Concept(
        {":max": "max", ":avg": "avg"},
        "Share of the KV cache in use, 0 to 1: of the fullest rank (max), and the mean over ranks (avg).",
    ),
    "kv_cache_capacity_tokens": Concept({"": "sum"}, "Tokens that the KV cache can hold, over all ranks."),
    "prompt_tokens": Concept(
        _RATE_AND_HOUR, "Prompt tokens a second, and in the last hour; cached ones and probes included."
    ),
    "output_tokens": Concept(_RATE_AND_HOUR, "Output tokens a second, and in the last hour; probes included."),
    "requests_finished": Concept(
        _RATE, "Requests that ended a second, by reason where the engine gives one.", ("reason",)
    ),
    "requests_succeeded": Concept(
        {":increase1h": "increase 1h"}, "Requests that succeeded in the last hour, probes included."
    ),
    "requests_failed": Concept(_RATE, "Requests a second that ended with an error of the engine."),
    "requests_aborted": Concept(_RATE, "Requests a second that the client gave up."),
    "requests_rejected": Concept(_RATE, "Requests a second that were refused before any work was done."),
    "preemptions": Concept(_RATE, "Running requests a second that the engine put off to free KV cache."),
    "prefix_cache_hit_ratio": Concept(_SHARE, "Share of the prompt tokens that the prefix cache held, 0 to 1."),
    "spec_decode_acceptance_ratio": Concept(_SHARE, "Share of the drafted tokens that were accepted, 0 to 1."),
    "batch_size": Concept(_MEAN, "Requests in one run of the model."),
    "batch_tokens": Concept(_MEAN, "Tokens in one step of the engine, of prompts and answers."),
    "max_context_tokens": Concept({"": "max"}, "The longest prompt and answer together, in tokens."),
    "lora_slots_used_ratio": Concept({"": "max"}, "Share of the slots for LoRA adapters that are taken, 0 to 1."),
    "lora_info": Concept({"": ""}, "Always 1; its labels name the adapters that run and wait now.", _LORA, _NO_MODEL),
    "sleeping": Concept({"": "max"}, "Whether the engine sleeps, with its weights off the GPU (1), or not (0)."),
    "process_start_time_seconds": Concept({"": ""}, "When the engine's process started, in Unix time."),
    "config_info": Concept(
        {"": ""},
        "Always 1; its labels are settings of the engine, so a changed setting is a new series.",
        _CONFIG,
        _NO_MODEL,
    ),
}


def recorded(concept: str, kind: str = "engine") -> tuple[str, ...]:
    """Return the names of the series that record a concept, of engines or of gateways."""
    return tuple(f"{v.prefix(kind)}:{concept}{suffix}" for suffix in CONCEPTS[concept].suffixes)


def provided(engine: Engine) -> set[str]:
    """Return the concepts and latencies that an engine gives."""
    measured = (engine.gauges, engine.counters, engine.quotients, engine.info, engine.histograms)
    names = {name for group in measured for name in group}
    names |= {name.split(":")[0].removesuffix("_seconds") for name in engine.concepts}
    return names | ({"process_start_time_seconds"} if engine.process_of else set())
