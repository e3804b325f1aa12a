import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferwatch.durations import between, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("80ms", 0.08), ("2s", 2), ("1m30s", 90), ("1.5h", 5400), ("0.5ms", 0.0005), ("1d2h3m4s5ms", 93784.005)],
)
def test_parse(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["", "5", "s", "5 s", "-5s", "1s1m", "1s1s", "1e3s", "1,5s", "5S", "\u0665s", "5s\n", "5minutes", "ms5"]
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="is not a duration; write one such as 80ms, 2s or 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize(("value", "advice"), [(5, "write 5s, 5ms or 5m"), (1.5, "write 1.5s, 1.5ms or 1.5m")])
def test_a_number_lacks_a_unit(value, advice):
    with pytest.raises(ValueError, match=f"{value} has no unit; {advice}"):
        parse_duration(value)


@pytest.mark.parametrize("value", [True, None, [], {}])
def test_what_is_no_text(value):
    with pytest.raises(ValueError, match="write a duration such as"):
        parse_duration(value)


@pytest.mark.parametrize("text", ["0s", "0ms", "0d0h", "0.0s"])
def test_zero(text):
    with pytest.raises(ValueError, match="is zero; write a duration above 0"):
        parse_duration(text)


def test_bounds_are_inclusive():
    parse = between("1s", "1d")
    assert (parse("1s"), parse("1d")) == (1, 86400)
    for text in ("999ms", "25h", "9" * 12 + "d"):
        with pytest.raises(ValueError, match="is out of range; write a duration from 1s to 1d"):
            parse(text)


@given(st.integers(min_value=1, max_value=10**13))
def test_format_and_parse_are_inverse(microseconds):
    seconds = microseconds / 1_000_000
    assert round(parse_duration(format_duration(seconds)) * 1_000_000) == microseconds


@given(st.text())
def test_any_text_is_a_duration_or_an_error(text):
    try:
        assert parse_duration(text) > 0
    except ValueError as error:
        assert "write" in str(error)
