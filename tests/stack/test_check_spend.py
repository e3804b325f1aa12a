"""What a day of probes may cost, and whether they fit under the prober's limit, worked out by hand."""

import pytest

from inferwatch.config import Config, parse_config
from stack.check.spend import check_fit, check_spending

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
        # 1440 probes of 10 + 64 tokens; 0.00001 + 0.00064 each.
        ("", "ok", "cost at most about 0.94 USD"),
        ("probe_budget: {money_per_day: 0.5}", "warn", "about 0.94 USD; the budget is 0.50 USD"),
        ("probe_budget: {money_per_day: 1, tokens_per_day: 110000}", "ok", "the budget is 110,000 and 1.00 USD"),
        ("probe_budget: {money_per_day: 1, tokens_per_day: 100000}", "warn", "the budget is 100,000 and 1.00 USD"),
    ],
)
def test_a_day_of_probes(budget: str, level: str, said: str) -> None:
    in_force = config(1, PRICED, *filter(None, [budget]))
    finding = check_spending(in_force, in_force.targets[0])
    assert finding.level == level and said in finding.text
    assert ("raise probe_budget" in finding.todo) == (level == "warn")


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
