"""Warnings of `inferwatch check` about limits that never act and checks that hardly ever pass."""

from pathlib import Path

import pytest
from check_fakes import Server, found

from inferwatch.config import load_config, parse_config
from stack.check.limits import check_limits

TARGET = "targets: [{name: chat, url: 'http://127.0.0.1:1/v1', scenarios: [one, two]%s}]\n"
PLAIN = "prompt: p, max_tokens: 64"


def limits(one: str, two: str = "", target: str = "", defaults: str = "") -> list[str]:
    config = parse_config(
        f"defaults: {{{defaults}}}\n{TARGET % target}scenarios: {{one: {{{PLAIN}{one}}}, two: {{{PLAIN}{two}}}}}\n",
        "inferwatch.yml",
        {},
    )
    findings = check_limits(config, config.targets[0])
    assert all((finding.level, finding.step) == ("warn", "limits") and finding.todo for finding in findings)
    return [finding.text for finding in findings]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (", ttft_timeout: 60s", "ttft_timeout: 1m is never reached before timeout: 1m"),
        (", timeout: 5s, gap_timeout: 6s", "gap_timeout: 6s is never reached before timeout: 5s"),
        (", stream: false, ttft_timeout: 5s", "ttft_timeout does nothing with stream: false"),
        (", stream: false, gap_timeout: 2m", "gap_timeout does nothing with stream: false"),
        (", stream: false, min_output_tokens: 9", "min_output_tokens does nothing with stream: false"),
        (", checks: {min_characters: 513}", "checks want 513 characters, more than an answer of max_tokens: 64 has"),
        (f", checks: {{text: {'t' * 513}}}", "checks want 513 characters, more than an answer of max_tokens: 64 has"),
        (", checks: {text: a</s>}", "checks.text holds a special token, which special_tokens forbids"),
    ],
)
def test_what_does_nothing_is_said(one: str, said: str) -> None:
    assert limits(one) == [f"one: {said}"]


@pytest.mark.parametrize(
    "one",
    [
        "",
        ", ttft_timeout: 59s, gap_timeout: 59s",
        ", stream: false",
        ", checks: {min_characters: 512}",
        ", checks: {text: a</s>, special_tokens: false}",
    ],
)
def test_what_acts_is_not(one: str) -> None:
    assert limits(one) == []


def test_a_limit_that_others_need_is_not_blamed_on_a_scenario_with_a_shorter_deadline() -> None:
    assert limits(", timeout: 10s", "", "", "ttft_timeout: 20s") == []


def test_what_several_scenarios_inherit_is_said_once_and_not_of_one_that_is_not_streamed() -> None:
    said = "ttft_timeout: 30s is never reached before timeout: 20s"
    assert limits("", "", ", timeout: 20s", "ttft_timeout: 30s") == [f"one, two: {said}"]
    assert limits(", stream: false", "", ", timeout: 20s", "ttft_timeout: 30s") == [f"two: {said}"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (", slo: {e2e: {threshold: 60s}}", "slo.e2e: 1m is met by every probe that succeeds, as timeout: 1m ends"),
        (", slo: {ttft: {threshold: 60s}}", "slo.ttft: 1m is met by every probe that succeeds, as timeout: 1m ends"),
        (
            ", ttft_timeout: 4s, slo: {ttft: {threshold: 5s}}",
            "slo.ttft: 5s is met by every probe that succeeds, as ttft_timeout: 4s ends",
        ),
        (", slo: {e2e: {threshold: 59s}, ttft: {threshold: 59s}}", ""),
        (", ttft_timeout: 4s, slo: {ttft: {threshold: 3s}, e2e: {threshold: 5s}}", ""),
        # Users' requests, which the engine tells of, may take longer than a probe.
        (", metrics: ['http://127.0.0.1:1/metrics'], slo: {e2e: {threshold: 90s}}", ""),
    ],
)
def test_an_objective_beyond_what_ends_a_probe_is_said(target: str, said: str) -> None:
    assert limits("", "", target) == ([f"one, two: {said} the others"] if said else [])


def test_cases_that_share_a_fault_are_said_once() -> None:
    cases = ", ".join(["{prompt: p, checks: {text: a</s>}}"] * 2)
    config = parse_config(
        f"{TARGET % ''}scenarios: {{one: {{cases: [{cases}], max_tokens: 64}}, two: {{{PLAIN}}}}}", "f", {}
    )
    assert len(check_limits(config, config.targets[0])) == 1


def test_the_check_of_a_target_holds_them(free_port: int) -> None:
    findings = found(Server(port=free_port), "timeout: 5s, gap_timeout: 5s")
    assert "short: gap_timeout: 5s is never reached before timeout: 5s" in [finding.text for finding in findings]


def test_the_example_holds_nothing_that_does_nothing() -> None:
    config = load_config(Path(__file__).parents[2] / "config" / "inferwatch.example.yml", {})
    assert [finding for target in config.targets for finding in check_limits(config, target)] == []
