"""Whether probes fit into their intervals and timeouts, and under the prober's limit, worked out by hand."""

import pytest

from inferwatch.config import Config, parse_config
from stack.check.fit import check_fit, check_pace


def config(
    targets: int = 1, *more: str, interval: str = "60s", limit: int = 16, short: str = "max_tokens: 64"
) -> Config:
    lines = [f"prober: {{max_concurrent: {limit}}}", f"defaults: {{interval: {interval}}}", "targets:"]
    for index in range(targets):
        lines += [f"- name: t{index}\n  url: http://127.0.0.1:1/v1", *(f"  {line}" for line in more)]
    lines.append(f"scenarios: {{short: {{prompt: hello, {short}}}}}")
    return parse_config("\n".join(lines), "inferwatch.yml", {})


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


@pytest.mark.parametrize(
    ("short", "said"),
    [
        # 0.5 + 4096 x 0.025 = 102.9 s, ended after 60 s.
        (
            "max_tokens: 4096, interval: 10s, timeout: 60s",
            [
                "short: an answer of 4,096 tokens takes about 103 s at 40 tokens a second, longer than timeout: 1m; "
                "such a probe ends as deadline",
                "short: a probe takes about 60 s, longer than interval: 10s; 5 of 6 are skipped as overlap",
            ],
        ),
        # 0.5 + 380 x 0.025 = 10 s.
        ("max_tokens: 380, interval: 10s, timeout: 10s", []),
        ("max_tokens: 381, interval: 10s", ["short: a probe takes about 10 s, longer than interval: 10s; 1 of 2"]),
        ("max_tokens: 381, interval: 1m, timeout: 10s", ["short: an answer of 381 tokens takes about 10 s"]),
        # What primes it takes another 0.5 s.
        ("max_tokens: 370, interval: 10s, primed: true", ["short: a probe takes about 10 s, longer than interval"]),
        ("max_tokens: 360, interval: 10s, primed: true", []),
    ],
)
def test_a_scenario_that_does_not_fit_is_said(short: str, said: list[str]) -> None:
    in_force = config(short=short)
    findings = check_pace(in_force, in_force.targets[0])
    assert [finding.level for finding in findings] == ["warn"] * len(said)
    assert all(finding.text.startswith(start) for finding, start in zip(findings, said, strict=True))


def test_a_scenario_runs_once_at_a_time() -> None:
    finding = check_fit(config(short="max_tokens: 4096, interval: 10s, timeout: 60s"))
    assert finding is not None and finding.text.startswith("1.0 probes run at a time")


def test_priming_takes_time_too() -> None:
    # 100 probes of 2.1 + 0.5 s a minute.
    finding = check_fit(config(100, short="max_tokens: 64, primed: true"))
    assert finding is not None and finding.text.startswith("4.3 probes run at a time")
