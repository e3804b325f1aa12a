"""Every definition of docs/definitions.md, worked out by hand on stamped events."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe import metrics
from exporters.probe.asking.timeline import Answer, Arrival, Ending, Figures, figures, stamps_taken_late
from exporters.probe.protocols import StreamEvent, Usage
from exporters.probe.protocols.base import Channel

TOKEN = StreamEvent("content", "x")
ROLE = StreamEvent()
STOP = StreamEvent(finish_reason="stop")
DONE = StreamEvent(done=True)
ALLOWED = ["stop", "length"]


def usage(output: int | None, prompt: int | None = 11) -> StreamEvent:
    return StreamEvent(usage=Usage(prompt, output))


def measure(*arrivals: tuple[float, StreamEvent], sent: float = 100.0, ended: float = 103.0, **more: object) -> Figures:
    """Return the figures of events given by their time since `sent`."""
    stamped = [Arrival(sent + at, event) for at, event in arrivals]
    answer = Answer(sent, stamped, ended, Ending.DONE)
    return figures(replace(answer, **more), ALLOWED)


def test_a_whole_stream() -> None:
    found = measure((0.1, ROLE), (0.5, TOKEN), (0.75, TOKEN), (1.0, TOKEN), (1.5, STOP), (2.0, usage(9)), (2.5, DONE))
    assert found.outcome == "success" and found.detail == ""
    assert found.ttfr_seconds == pytest.approx(0.1)
    assert found.ttft_seconds == pytest.approx(0.5)
    assert found.e2e_seconds == pytest.approx(1.0)
    # Nine tokens, one of them in the first event: (1.0 - 0.5) / (9 - 1).
    assert found.tpot_seconds == pytest.approx(0.0625)
    # From the last token event to the end, which is at 3.0 of this clock.
    assert found.tail_seconds == pytest.approx(2.0)
    assert (found.output_tokens, found.prompt_tokens, found.token_source) == (9, 11, "usage")
    assert found.finish_reason == "stop" and not found.buffered


def test_without_usage_chunks_are_counted_and_said_to_be() -> None:
    found = measure((0.5, TOKEN), (0.7, TOKEN), (0.9, TOKEN), (1.0, STOP))
    assert (found.output_tokens, found.token_source, found.prompt_tokens) == (3, "chunks", None)
    assert found.tpot_seconds == pytest.approx(0.2)


def test_tokens_in_the_first_event_are_known_from_a_running_count() -> None:
    events = [StreamEvent("content", "x", usage=Usage(11, total)) for total in (4, 12, 20)]
    found = measure((0.5, events[0]), (0.9, events[1]), (1.3, events[2]), (1.4, STOP))
    # (1.3 - 0.5) / (20 - 4), not / (20 - 1).
    assert found.tpot_seconds == pytest.approx(0.05)
    assert found.output_tokens == 20


@pytest.mark.parametrize(
    ("channels", "ttft", "ttfo"),
    [
        (["content", "content"], 0.5, 0.5),
        (["reasoning", "reasoning", "content"], 0.5, 0.9),
        (["reasoning", "refusal"], 0.5, 0.7),
        (["tool", "tool", "content"], 0.5, 0.9),
        (["reasoning", "tool"], 0.5, None),
    ],
)
def test_the_first_output_is_what_a_user_sees_first(channels: list[Channel], ttft: float, ttfo: float | None) -> None:
    events = [(0.5 + 0.2 * place, StreamEvent(channel, "x")) for place, channel in enumerate(channels)]
    found = measure((0.1, ROLE), *events, (2.0, STOP))
    assert found.ttft_seconds == pytest.approx(ttft)
    assert found.ttfo_seconds == (None if ttfo is None else pytest.approx(ttfo))
    assert measure(*events[-1:], (2.0, STOP), streamed=False).ttfo_seconds is None


def test_reasoning_counts_as_tokens() -> None:
    thinking = StreamEvent("reasoning", "hm")
    found = measure((0.2, thinking), (0.4, TOKEN), (0.6, STOP), (0.7, usage(2)))
    assert found.ttft_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    "events",
    [
        [(0.5, TOKEN), (0.6, STOP), (0.7, usage(1))],
        [(0.5, TOKEN), (0.6, STOP)],
        [(0.5, TOKEN), (0.5, TOKEN), (0.5, TOKEN), (0.5, STOP)],
        [(0.5, TOKEN), (0.6, STOP), (0.7, usage(5))],
    ],
    ids=["one token", "one chunk", "one read", "one event with five tokens"],
)
def test_tpot_is_undefined(events: list[tuple[float, StreamEvent]]) -> None:
    found = measure(*events)
    assert found.tpot_seconds is None
    assert found.outcome == "success"
    assert not found.buffered


def test_hidden_reasoning_makes_no_stream_buffered_and_no_answer_long() -> None:
    counted = StreamEvent(usage=Usage(11, 302, reasoning_tokens=300))
    found = measure((0.5, TOKEN), (0.7, TOKEN), (0.8, STOP), (0.9, counted))
    assert (found.output_tokens, found.buffered) == (302, False)
    assert found.tpot_seconds == pytest.approx(0.2)
    assert not measure((0.5, TOKEN), (0.8, STOP), (0.9, counted)).buffered
    # A running count that the first event gives has it already.
    first = StreamEvent("content", "x", usage=Usage(11, 301, reasoning_tokens=300))
    found = measure((0.5, first), (0.7, TOKEN), (0.8, STOP), (0.9, counted))
    assert found.tpot_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("pieces", "hidden"),
    [
        (("<think>", "hm", "</think>", "Paris"), False),
        (("\n<", "think", ">hm", "Paris"), False),
        (("hm", " so", "</think>", "Paris"), False),
        (("[THINK]", "hm", "[/THINK]", "Paris"), False),
        (("<seed:think>", "hm", "</seed:think>", "Paris"), False),
        (("<|channel|>", "analysis", "<|message|>", "hm"), False),
        (("◁think▷", "hm", "◁/think▷", "Paris"), False),
        (("I", " think", " <b>", "Paris"), True),
        (("<thing>", " [link]", " <think>", "Paris"), True),
    ],
)
def test_reasoning_inside_the_content_is_not_hidden(pieces: tuple[str, ...], hidden: bool) -> None:
    events = [(0.5 + 0.1 * place, StreamEvent("content", piece)) for place, piece in enumerate(pieces)]
    found = measure(*events, (1.0, STOP), (1.1, StreamEvent(usage=Usage(11, 40, reasoning_tokens=30))))
    # 0.3 s for all tokens but one, or for those of the ten shown that the first event did not bring.
    assert found.tpot_seconds == pytest.approx(0.3 / (9 if hidden else 39))


@pytest.mark.parametrize(("least", "tpot"), [(3, 0.2), (4, None)])
def test_an_answer_below_min_output_tokens_has_no_tpot(least: int, tpot: float | None) -> None:
    arrivals = [Arrival(at, event) for at, event in ((0.5, TOKEN), (0.7, TOKEN), (0.9, TOKEN), (1.0, STOP))]
    found = figures(Answer(0.0, arrivals, 1.0, Ending.DONE), ALLOWED, least)
    assert found.outcome == "success"
    assert found.tpot_seconds == (None if tpot is None else pytest.approx(tpot))


def test_a_stream_that_arrives_all_at_once_is_buffered() -> None:
    found = measure(*[(0.5, TOKEN)] * 8, (0.5, STOP))
    assert found.buffered and found.tpot_seconds is None and found.outcome == "success"


def test_a_stream_in_bursts_is_buffered() -> None:
    # Twenty events at 0.5 s, twenty at 1.0 s: 38 of 39 gaps are nothing.
    found = measure(*[(0.5, TOKEN)] * 20, *[(1.0, TOKEN)] * 20, (1.1, STOP))
    assert found.buffered and found.tpot_seconds is None


def test_a_pair_of_events_in_each_read_is_not_buffered() -> None:
    pairs = [(0.5 + 0.1 * index, TOKEN) for index in range(6) for _ in range(2)]
    assert not measure(*pairs, (2.0, STOP)).buffered


@pytest.mark.parametrize(
    ("events", "ending", "outcome"),
    [
        ([(0.5, TOKEN), (0.6, STOP)], Ending.END, "success"),
        ([(0.5, TOKEN)], Ending.END, "truncated"),
        ([(0.5, TOKEN), (0.6, DONE)], Ending.DONE, "truncated"),
        ([(0.5, TOKEN), (0.6, StreamEvent(finish_reason="content_filter"))], Ending.DONE, "finish_reason"),
        ([(0.1, ROLE), (0.6, STOP)], Ending.DONE, "no_tokens"),
        ([], Ending.END, "no_tokens"),
        ([(0.5, TOKEN), (0.6, StreamEvent(error="x"))], Ending.END, "stream_error"),
        ([(0.5, TOKEN), (0.6, STOP), (0.7, StreamEvent(error=""))], Ending.DONE, "stream_error"),
        ([(0.5, TOKEN)], Ending.LOST, "connection_lost"),
        ([(0.5, TOKEN), (0.6, STOP)], Ending.LOST, "connection_lost"),
        ([], Ending.LOST, "connection_lost"),
        ([(0.1, ROLE)], Ending.DEADLINE, "ttft_timeout"),
        ([(0.5, TOKEN), (0.6, STOP)], Ending.DEADLINE, "deadline"),
        ([(0.1, ROLE)], Ending.SILENCE, "ttft_timeout"),
        ([(0.5, TOKEN), (0.6, ROLE)], Ending.SILENCE, "gap_timeout"),
        ([(0.5, TOKEN)], Ending.MALFORMED, "stream_error"),
        ([(0.5, TOKEN)], Ending.TOO_LARGE, "stream_error"),
    ],
)
def test_verdict(events: list[tuple[float, StreamEvent]], ending: Ending, outcome: str) -> None:
    found = measure(*events, ending=ending, detail="(1 s)")
    assert found.outcome == outcome
    assert (found.detail == "") == (outcome == "success")


def test_a_failed_stream_still_says_what_it_cost() -> None:
    found = measure((0.5, TOKEN), (0.7, TOKEN), ending=Ending.LOST, detail="reset")
    assert (found.output_tokens, found.token_source) == (2, "chunks")


stream_events = st.builds(
    StreamEvent,
    channel=st.sampled_from([None, "content", "reasoning", "tool"]),
    text=st.just("x"),
    finish_reason=st.sampled_from([None, None, "stop", "content_filter"]),
    usage=st.none() | st.builds(Usage, st.none() | st.integers(1, 9), st.none() | st.integers(1, 99)),
    error=st.sampled_from([None, None, None, "x"]),
    done=st.booleans(),
)


@given(
    steps=st.lists(st.tuples(st.floats(0, 2), stream_events), max_size=12),
    ending=st.sampled_from(list(Ending)),
)
def test_figures_are_ordered_and_never_negative(steps: list[tuple[float, StreamEvent]], ending: Ending) -> None:
    at, arrivals = 100.0, []
    for step, event in steps:
        at += step
        arrivals.append(Arrival(at, event))
    found = figures(Answer(100.0, arrivals, at, ending), ALLOWED)
    assert found.outcome in metrics.OUTCOMES
    times = [found.ttfr_seconds, found.ttft_seconds, found.e2e_seconds]
    known = [time for time in times if time is not None]
    assert known == sorted(known) and all(time >= 0 for time in known)
    assert found.tail_seconds is None or found.tail_seconds >= 0
    assert found.tpot_seconds is None or found.tpot_seconds > 0
    if found.outcome == "success":
        assert found.ttft_seconds is not None and found.output_tokens and found.token_source


@pytest.mark.parametrize(
    ("arrivals", "kernel", "late"),
    [
        pytest.param([(0.5, TOKEN), (0.9, TOKEN), (1.0, STOP)], False, [0.0, 0.5, 0.9], id="stamped by this process"),
        pytest.param([(0.5, TOKEN), (0.9, TOKEN), (1.0, STOP)], True, [0.0], id="stamped by the kernel, one by one"),
        pytest.param([(0.5, TOKEN), (0.5, TOKEN), (0.9, TOKEN)], True, [0.0, 0.5], id="the first with the second"),
        pytest.param([(0.5, ROLE), (0.5, TOKEN), (0.9, TOKEN)], True, [0.0], id="the first behind the role"),
        pytest.param([(0.5, TOKEN), (0.9, TOKEN), (0.9, STOP)], True, [0.0, 0.9], id="the last with the end"),
        pytest.param([(0.5, STOP)], True, [0.0], id="no token"),
    ],
)
def test_which_stamps_a_busy_process_spoils(
    arrivals: list[tuple[float, StreamEvent]], kernel: bool, late: list[float]
) -> None:
    stamped = [Arrival(at, event) for at, event in arrivals]
    assert stamps_taken_late(Answer(0.0, stamped, 1.0, Ending.DONE, kernel=kernel)) == late
