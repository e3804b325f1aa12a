"""What a day of probes may cost, worked out by hand."""

import pytest

from inferwatch.config import Config, parse_config
from stack.check.spend import check_spending

PRICED = "cost: {input_per_mtok: 1, output_per_mtok: 10}"


def config(*more: str) -> Config:
    lines = ["targets:", "- name: chat", "  url: http://127.0.0.1:1/v1", *(f"  {line}" for line in more)]
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
    in_force = config(PRICED, *filter(None, [budget]))
    finding = check_spending(in_force, in_force.targets[0])
    # 1440 probes of 10 + 64 tokens; 0.00001 + 0.00064 each.
    day = "probes use at most about 106,560 tokens a day, 92,160 of them output (short: 64 every 1m)"
    assert (finding.level, finding.text) == (level, f"{day}; they cost at most about 0.94 USD{said}")
    assert ("raise probe_budget" in finding.todo) == (level == "warn")


def test_what_primes_a_prompt_is_counted_too() -> None:
    in_force = config()
    primed = in_force.scenarios["short"].model_copy(update={"primed": True})
    in_force = in_force.model_copy(update={"scenarios": {"short": primed}})
    # 1440 probes of 10 + 64 tokens, each after a request of 10 + 1.
    text = check_spending(in_force, in_force.targets[0]).text
    assert "at most about 122,400 tokens a day, 93,600 of them output (short: 64 and a request to prime it" in text


def test_an_hourly_price_is_no_price_of_tokens() -> None:
    in_force = config("cost: {per_hour: 4}")
    assert "cost at most" not in check_spending(in_force, in_force.targets[0]).text
