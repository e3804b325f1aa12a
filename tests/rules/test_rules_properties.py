"""What holds for any course of events: replicas restart, ranks come and go, names change in an upgrade."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

STEPS = 40
MINUTES = STEPS // 4
# promtool runs once for each example, so a failing one is shown as it was found.
EXAMPLES = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MODEL = 'target="chat",model_name="m"'


@dataclass(frozen=True)
class Life:
    """One rank of one replica: tokens in each step from its first scrape, and the steps at which it starts anew."""

    replica: int
    rank: int
    from_step: int
    tokens: list[int]
    restarts: frozenset[int]

    @property
    def values(self) -> list[int]:
        """Return the counter at each scrape; a start at 0 is always scraped, as on a server that is not yet asked."""
        found, total = [], 0
        for step, made in enumerate(self.tokens):
            total = 0 if step == 0 or step in self.restarts else total + made
            found.append(total)
        return found

    @property
    def ended(self) -> int:
        """Return how many steps before the end it was scraped last."""
        return STEPS - (self.from_step + len(self.tokens) - 1)

    @property
    def counted(self) -> float:
        """Return all tokens that some scrape saw, with what Prometheus's `increase` adds for what came after the last.

        It goes on at the mean pace: up to the end if that is no more than a step away, else for half a step.
        """
        scraped = sum(now - before for before, now in pairwise(self.values) if now > before)
        more = self.ended if self.ended <= 1 else 0.5
        return scraped * (1 + more / (len(self.tokens) - 1))

    def series(self, name: str, rank_label: str, values: list[int]) -> dict[str, str]:
        """Return the counter, or a gauge, as promtool reads it: absent before and stale after."""
        labels = f'{MODEL},instance="r{self.replica}:1",{rank_label}="{self.rank}"'
        gone = ["stale"] if self.ended else []
        absent = [f"_x{self.from_step}"] if self.from_step else []
        return {"series": f"{name}{{{labels}}}", "values": " ".join([*absent, *map(str, values), *gone])}


@st.composite
def lives(draw: st.DrawFn) -> list[Life]:
    """Return up to three replicas of up to two ranks, of which the first lives from the beginning to the end."""
    found = []
    for replica in range(draw(st.integers(1, 3))):
        for rank in range(draw(st.integers(1, 2))):
            whole = not found
            start = 0 if whole else draw(st.integers(0, STEPS // 2))
            end = STEPS if whole else draw(st.integers(start + 4, STEPS))
            length = end - start + 1
            tokens = draw(st.lists(st.integers(0, 500), min_size=length, max_size=length))
            restarts = draw(st.frozensets(st.integers(1, length - 1), max_size=2))
            found.append(Life(replica, rank, start, tokens, restarts))
    return found


ENGINES = {
    "vllm": ("engine-vllm.yml", "vllm:generation_tokens_total", "vllm:num_requests_running", "engine"),
    "sglang": ("engine-sglang.yml", "sglang:generation_tokens_total", "sglang:num_running_reqs", "dp_rank"),
    "lmdeploy": ("engine-lmdeploy.yml", "lmdeploy:generation_tokens_total", "lmdeploy:num_requests_running", "engine"),
}


@pytest.mark.tool("promtool")
@pytest.mark.parametrize("engine", ENGINES)
@EXAMPLES
@given(course=lives(), running=st.integers(0, 9))
def test_no_token_that_was_scraped_is_lost_or_counted_twice(
    promtool_test: Callable[..., None], engine: str, course: list[Life], running: int
) -> None:
    rules, tokens, requests, rank = ENGINES[engine]
    at_end = running * sum(1 for one in course if not one.ended)
    promtool_test(
        rules,
        {
            "interval": "15s",
            "input_series": [one.series(tokens, rank, one.values) for one in course]
            + [one.series(requests, rank, [running] * len(one.tokens)) for one in course],
            "promql_expr_test": [
                _within("sum by (target) (llm:output_tokens:increase1h)", sum(one.counted for one in course), 0.1),
                _within("sum by (target) (llm:requests_running)", at_end, 0.0),
            ],
        },
    )


def _within(expr: str, value: float, tolerance: float) -> dict[str, Any]:
    return {
        "expr": f"abs({expr} - {value!r}) <= bool {tolerance!r}",
        "eval_time": f"{MINUTES}m",
        "exp_samples": [{"labels": '{target="chat"}', "value": 1}],
    }


# Of each name that a metric had: the labels that it came with.
NAMES = {
    "old": ["vllm:gpu_cache_usage_perc"],
    "new": ["vllm:kv_cache_usage_perc"],
    "both": ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
}


@pytest.mark.tool("promtool")
@EXAMPLES
@given(
    replicas=st.lists(
        st.tuples(st.sampled_from([*NAMES]), st.sampled_from([*NAMES]), st.integers(0, 100)), min_size=1, max_size=4
    ),
    upgrade=st.integers(4, STEPS - 4),
)
def test_a_replica_counts_once_whatever_its_version_before_and_after_an_upgrade(
    promtool_test: Callable[..., None], replicas: list[tuple[str, str, int]], upgrade: int
) -> None:
    series = []
    for index, (before, after, used) in enumerate(replicas):
        for name in {*NAMES[before], *NAMES[after]}:
            first = f"{used / 100}x{upgrade - 1}" if name in NAMES[before] else f"_x{upgrade}"
            second = f"{used / 100}x{STEPS - upgrade}" if name in NAMES[after] else "stale"
            labels = f'{MODEL},instance="r{index}:1",engine="0"'
            series.append({"series": f"{name}{{{labels}}}", "values": f"{first} {second}"})
    expected = [
        {
            "labels": f'llm:kv_cache_usage_ratio:max{{{MODEL},instance="r{index}:1",inference_engine="vllm"}}',
            "value": used / 100,
        }
        for index, (_, _, used) in enumerate(replicas)
    ]
    times = [f"{15 * step}s" for step in (upgrade - 1, upgrade, upgrade + 1, STEPS)]
    tests = [{"expr": "llm:kv_cache_usage_ratio:max", "eval_time": time, "exp_samples": expected} for time in times]
    promtool_test("engine-vllm.yml", {"interval": "15s", "input_series": series, "promql_expr_test": tests})
