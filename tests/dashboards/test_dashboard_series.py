"""Reading PromQL: the series, labels, windows and functions that the lint rules ask about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.series import Selector, grouping_labels, selectors

CASES = {
    "up": [Selector("up", (), "", ())],
    'up{job="a", instance!~"b|c"}': [Selector("up", ("job", "instance"), "", ())],
    "rate(x_total[5m])": [Selector("x_total", (), "5m", ("rate",))],
    'sum by (a, b) (rate(x_total{c="d"}[$__rate_interval])) / 2': [
        Selector("x_total", ("c",), "$__rate_interval", ("sum", "rate"))
    ],
    "sum(x) by (a)": [Selector("x", (), "", ("sum",))],
    "llm:ttft_seconds:p95_5m or on (target) llm_probe:ttft_seconds:p95_5m": [
        Selector("llm:ttft_seconds:p95_5m", (), "", ()),
        Selector("llm_probe:ttft_seconds:p95_5m", (), "", ()),
    ],
    "a * on (node, gpu) group_left () b": [Selector("a", (), "", ()), Selector("b", (), "", ())],
    "a > bool 0 and b offset 5m": [Selector("a", (), "", ()), Selector("b", (), "", ())],
    'label_replace(max by (t) (a), "new", "b$1", "old", "c{d}(e)")': [Selector("a", (), "", ("label_replace", "max"))],
    "time() - a": [Selector("a", (), "", ())],
    "(a) / (b > 0)": [Selector("a", (), "", ()), Selector("b", (), "", ())],
    "topk(1, a)": [Selector("a", (), "", ("topk",))],
    "a == inf or b == NaN": [Selector("a", (), "", ()), Selector("b", (), "", ())],
    "max_over_time(a[1h:5m])": [Selector("a", (), "1h:5m", ("max_over_time",))],
    "1e6 * a": [Selector("a", (), "", ())],
}  # fmt: skip


@pytest.mark.parametrize(("expr", "expected"), CASES.items(), ids=list(CASES))
def test_every_series_is_found_with_what_surrounds_it(expr: str, expected: list[Selector]) -> None:
    assert selectors(expr) == expected


def test_grouping_labels_are_not_series() -> None:
    assert grouping_labels("sum by (le, target) (a) / ignoring (x) b * on (y) group_right (z) c") == {
        "le", "target", "x", "y", "z",
    }  # fmt: skip


NAMES = st.from_regex(r"[a-z]{3}_[a-z]{3,8}(:p\d\d)?", fullmatch=True)


@given(st.lists(NAMES, min_size=1, max_size=6), st.sampled_from([" + ", " or on (target) ", "\nunless ", " / "]))
def test_no_series_is_lost_or_invented(names: list[str], operator: str) -> None:
    parts = [f'sum by (target) (rate({name}{{target=~"$target", text="a) or b"}}[5m]))' for name in names]
    found = selectors(operator.join(parts))
    assert [selector.name for selector in found] == names
    assert {selector.within for selector in found} == {("sum", "rate")}
