"""Why a budget does not hold a probe: it is too small for any, or too little of it is left."""

import pytest

from exporters.probe.scheduling.budget import Amount
from exporters.probe.scheduling.prober import Prober
from exporters.probe.scheduling.unaffordable import unaffordable
from inferwatch.config import parse_config
from inferwatch.config.cost import ProbeBudget

MOST = Amount(78, 0.5, "EUR")


@pytest.mark.parametrize(
    ("budget", "taken", "sentence"),
    [
        (
            {"tokens_per_day": 50},
            Amount(),
            "one probe of 'short' may use 78 tokens, more than the 50 of it; allow more",
        ),
        (
            {"tokens_per_day": 1_500_000},
            Amount(1_499_990),
            "of the 1500000 tokens of it 10 are left for today (UTC), and one probe of 'short' may use 78 tokens",
        ),
        (
            {"tokens_per_day": 100},
            Amount(116),
            "of the 100 tokens of it 0 are left for today (UTC), and one probe of 'short' may use 78 tokens",
        ),
        (
            {"money_per_day": 0.25},
            Amount(),
            "one probe of 'short' may cost 0.5 EUR, more than the 0.25 of it; allow more",
        ),
        (
            {"tokens_per_day": 1000, "money_per_day": 2.0},
            Amount(100, 1.75, "EUR"),
            "of the 2 EUR of it 0.25 are left for today (UTC), and one probe of 'short' may cost 0.5 EUR",
        ),
        # What another probe had set aside is free by now.
        (
            {"tokens_per_day": 100},
            Amount(),
            "probes that ended just now have freed what this one needs of it; ask again",
        ),
    ],
)
def test_the_limit_that_does_not_hold_it_is_named(budget: dict[str, float], taken: Amount, sentence: str) -> None:
    assert unaffordable("short", MOST, taken, ProbeBudget.model_validate(budget), "it") == sentence


def test_a_scenario_that_its_target_does_not_list_may_be_too_large() -> None:
    """The file is not refused for it, since only a request can name it."""
    config = parse_config(
        "targets: [{name: chat, url: 'http://h/v1', model: m, probe_budget: {tokens_per_day: 200}}]", "f", {}
    )
    prober = Prober()
    prober.apply(config)
    (target,) = config.targets
    scenario = config.scenarios_of(target.model_copy(update={"scenarios": ["canary-long"]}))["canary-long"]
    sentence = prober.once(target, "canary-long", scenario)
    assert isinstance(sentence, str)
    assert sentence.startswith("one probe of 'canary-long' may use 1")
    assert sentence.endswith(" tokens, more than the 200 of the probe_budget of chat; allow more")
