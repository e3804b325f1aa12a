"""What a day of probes may cost, and whether they fit under the prober's limit, worked out by hand."""

import pytest

from exporters.probe.scheduling.spending import Spending
from inferwatch.config import Config, parse_config
from stack.check.spend import check_fit, check_spending

BOTH = "; the budget is %s tokens and 1.00 USD"
PRICED = "cost: {input_per_mtok: 1, output_per_mtok: 10}"


def config(targets: int = 1, *more: str, interval: str = "60s", limit: int = 16) -> Config:
    lines = [f"prober: {{max_concurrent: {limit}}}", f"defaults: {{interval: {interval}}}", "targets:"]
    for index in range(targets):
        lines += [f"- name: t{index}\n  url: http://127.0.0.1:1/v1", *(f"  {line}" for line in more)]
    lines.append(f"scenarios: {{short: {{prompt: {'p' * 40}, max_tokens: 64}}}}")
    return parse_config("\n".join(lines), "inferwatch.yml", {})


@pytest.mark.parametrize(
    ("budget", "level", "said"),
    [
        ("", "ok", ""),
        ("probe_budget: {money_per_day: 0.5}", "warn", "; the budget is 0.50 USD"),
        (
            "probe_budget: {tokens_per_day: 106560, money_per_day: 1}",
            "ok",
            "; the budget is 106,560 tokens and 1.00 USD",
        ),
        (
            "probe_budget: {tokens_per_day: 106559, money_per_day: 1}",
            "warn",
            "; the budget is 106,559 tokens and 1.00 USD",
        ),
    ],
)
def test_a_day_of_probes(budget: str, level: str, said: str) -> None:
    in_force = config(1, PRICED, *filter(None, [budget]))
    finding = check_spending(in_force, in_force.targets[0])
    # 1440 probes of 10 + 64 tokens; 0.00001 + 0.00064 each.
    day = "probes use at most about 106,560 tokens a day, 92,160 of them output (short: 64 every 1m)"
    assert (finding.level, finding.text) == (level, f"{day}; they cost at most about 0.94 USD{said}")
    assert ("raise probe_budget" in finding.todo) == (level == "warn")


@pytest.mark.parametrize(
    ("budget", "runs"),
    [
        # One probe: 10 + 64 tokens, or 0.00065 USD.
        ("tokens_per_day: 73", False),
        ("tokens_per_day: 74", True),
        ("money_per_day: 0.00064", False),
        ("money_per_day: 0.00066", True),
    ],
)
def test_a_budget_that_never_lets_a_probe_run_is_a_failure(budget: str, runs: bool) -> None:
    in_force = config(1, PRICED, f"probe_budget: {{{budget}}}")
    finding = check_spending(in_force, in_force.targets[0])
    assert (finding.level == "fail") != runs
    assert ("the budget is too small for a single probe of short, so none ever runs" in finding.text) != runs
    # What the prober makes of it.
    assert (Spending().book(in_force.targets[0], "short", in_force.scenarios["short"]) is not None) == runs


def test_what_primes_a_prompt_is_counted_too() -> None:
    in_force = config(1)
    primed = in_force.scenarios["short"].model_copy(update={"primed": True})
    in_force = in_force.model_copy(update={"scenarios": {"short": primed}})
    # 1440 probes of 10 + 64 tokens, each after a request of 10 + 1.
    text = check_spending(in_force, in_force.targets[0]).text
    assert "at most about 122,400 tokens a day, 93,600 of them output (short: 64 and a request to prime it" in text


def test_an_hourly_price_is_no_price_of_tokens() -> None:
    in_force = config(1, "cost: {per_hour: 4}")
    assert "cost at most" not in check_spending(in_force, in_force.targets[0]).text


def test_probes_that_fit() -> None:
    # 100 probes of 0.5 + 64 x 0.025 = 2.1 s a minute: 3.5 at a time.
    finding = check_fit(config(100))
    assert finding is not None and finding.level == "ok" and finding.text.startswith("3.5 probes run at a time")


def test_probes_that_do_not_fit_and_what_to_do() -> None:
    # 35 at a time, half as much again for those that come together: 53.
    finding = check_fit(config(1000))
    assert finding is not None and finding.level == "warn"
    assert finding.todo == "raise prober.max_concurrent to about 53, or the intervals"
    # 210 at a time: 315 are more than the largest limit.
    finding = check_fit(config(1000, interval="10s", limit=256))
    assert finding is not None and finding.level == "ok"
    finding = check_fit(config(1000, interval="5s", limit=256))
    assert finding is not None and "share the targets out among 3 probers" in finding.todo


def test_a_timeout_ends_a_probe_sooner_and_nothing_is_said_of_no_targets() -> None:
    finding = check_fit(config(100, "timeout: 600ms"))
    assert finding is not None and finding.text.startswith("1.0 probes run at a time")
    assert check_fit(Config()) is None
