"""Each pitfall of streaming, and each bug that a user of another tool met, is held by a test; this says by which.

The names are those of an odd stream (played over every API that can say it), or `file::test` without `test_probe_`.
The numbers are those of the two lists that were gathered from the issues of benchmarks, gateways and probers.
"""

import re
from pathlib import Path

import hostile_player  # noqa: F401 - registers the streams
import pytest
from hostile_script import STREAMS

PITFALLS: dict[str, tuple[str, ...]] = {
    "1 a role alone comes first": ("base", "role_after_the_first_prefill"),
    "2 empty deltas before the first token": ("empty_delta_first", "log_probabilities_alone"),
    "3 an end without choices": ("base",),
    "4 a first event without choices": ("azure_first", "progress_first"),
    "5 stream_options refused": ("parameters::each_refusal_is_a_failed_probe_and_found_out_once",),
    "6 running counts": ("cont_usage", "running_count_that_is_none", "bundled_first"),
    "7 counts in the last choice": ("usage_in_finish", "usage_null_elsewhere"),
    "8 no counts": ("no_usage", "usage_zero"),
    "9 several tokens in an event": ("multi_token", "all_in_one_event"),
    "10 several events in a read": ("coalesced", "four_to_a_read"),
    "11 a stream that a proxy holds back": ("all_at_once", "bursts_of_a_gateway"),
    "12 a compressed stream": ("gzip", "hostile_cuts::segments_cut_anywhere"),
    "13 reasoning under three names": ("reasoning_content", "reasoning", "details_of_reasoning"),
    "14 reasoning uses up the limit": ("reasoning_only",),
    "15 calls of tools alone": ("tool_only", "ollama_calls"),
    "16 comments": ("comments", "ping_mid", "comment_inside_an_event"),
    "17 named events": ("event_ping", "named_events"),
    "18 line ends of CR": ("crlf", "cr_only", "crlf_coalesced", "crlf_cut_between"),
    "19 events cut anywhere": ("split", "split_at_blank", "utf8_split", "byte_by_byte"),
    "20 other line separators in the text": ("u2028",),
    "21 no space after data:": ("nospace",),
    "22 no [DONE]": ("no_done", "nothing_after_the_reason"),
    "23 an error inside a stream": ("err_first", "err_mid", "err_event", "error_as_text"),
    "24 an error as a document": ("json200",),
    "25 a stream that just ends": ("truncated_clean", "done_without_a_reason"),
    "26 a reset": ("truncated_abrupt",),
    "27 reasons of an end": ("finish_empty_elsewhere", "finish_missing_elsewhere", "finish_abort", "finish_sentence"),
    "28 no delta": ("delta_null", "no_delta"),
    "29 connections that are used again": ("reuse::a_request_that_crosses_the_end_of_the_connection_is_no_failure",),
    "30 headers long before the first token": ("slow_prefill", "run::times_are_those_of_the_server"),
    "31 legacy completions": ("base", "empty_delta_first"),
    "32 Ollama's lines": ("ollama_before_reasons", "ollama_token_in_the_last_line", "ollama_loaded"),
    "33 Anthropic's events": ("anthropic_signature_first", "anthropic_pings", "anthropic_overloaded_at_once"),
    "34 TGI's events": ("tgi_ended_by_its_last_token", "tgi_special_inside"),
    "35 what llama.cpp adds": ("llamacpp_progress_first", "native_apis::what_llamacpp_really_answered"),
    "36 the framing of Responses": ("responses_framing_alone", "base"),
    "37 max_tokens refused": ("parameters::each_refusal_is_a_failed_probe_and_found_out_once",),
    "38 trailers": ("hostile_http::a_whole_answer",),
    "39 drips that no timeout of a read meets": ("run::what_never_ends_is_interrupted_at_the_deadline",),
    "40 a prompt that is cached": ("prompts::a_warm_prompt_is_always_the_same_and_a_cold_one_never_begins_alike",),
}
BUGS: dict[str, tuple[str, ...]] = {
    "1 TTFT of the role": ("base",),
    "2 a role after the first piece of prefill": ("role_after_the_first_prefill",),
    "3 gaps divided by nothing": ("multi_token", "cont_usage"),
    "4 blanks stripped from each read": ("split_at_blank",),
    "5 a comment swallows the rest": ("ping_mid",),
    "6 many streams of long prompts": ("lag::a_probe_is_tainted_by_what_its_times_cannot_bear",),
    "7 waiting for a place hidden": ("schedule::waiting_for_a_thread_too_long_is_a_misfire",),
    "8 a cached prefix": ("prompts::a_warm_prompt_is_always_the_same_and_a_cold_one_never_begins_alike",),
    "9 no token taken for a TTFT of 0": ("empty",),
    "10 the tokens that were asked for": ("shorter_than_asked",),
    "11 the same, without counts": ("no_usage",),
    "12 reasoning ignored": ("reasoning_only",),
    "13 an error credited with tokens": ("err_first",),
    "14 a comment while prefilling": ("comments",),
    "15 events taken for tokens": ("multi_token",),
    "16 an index into no choices": ("base", "azure_first"),
    "17 only delta.content": ("reasoning",),
    "18 an error taken for a success": ("err_mid", "err_first"),
    "19 a negative TTFT": ("empty", "timeline::figures_are_ordered_and_never_negative"),
    "20 failures among the latencies": ("record::a_failure_is_counted_not_observed_and_takes_the_last_figures_away",),
    "21 U+2028": ("u2028",),
    "22 reasoning cut by the limit": ("reasoning_only",),
    "23 an error with 200": ("json200", "err_mid"),
    "24 a reset half-way": ("truncated_abrupt",),
    "25 tokens counted by a tokenizer of one's own": ("no_usage",),
    "26 the end among the gaps": ("slow_done",),
    "27 TTFT inside the gaps": ("base",),
    "28 an index into no choices": ("base",),
    "29 tokens bundled into the first event": ("bundled_first", "llamacpp_bundled_first"),
    "30 an error after tokens": ("err_mid",),
    "31 events that are split": ("split", "nospace", "comments", "err_event"),
    "32 broken JSON under load": ("split", "u2028"),
    "33 a limit of one token": ("one_token", "reasoning_only"),
    "34 a limit that is too low": ("finish_length",),
    "35 bursts of a gateway": ("bursts_of_a_gateway",),
    "36 a proxy that flatters the gaps": ("four_to_a_read",),
    "37 above the last bucket": ("slow_prefill",),
    "38 ladders that differ": ("ladders::every_objective_can_be_told_from_what_is_slower",),
    "39 framing taken for a token": ("responses_framing_alone",),
    "40 a call without text": ("tool_only",),
    "41 phases of a redirect": ("hostile_http::a_redirect_is_shown_and_not_followed",),
    "42 the timeout of a scrape": ("oneshot::the_scrape_s_timeout_is_kept",),
    "43 hidden retries": ("hostile_http::nothing_is_sent_twice",),
    "44 runs that are skipped": ("schedule::overlap_is_skipped_and_counted",),
    "45 lines that come an event late": ("hostile_times::no_piece_waits_for_the_next_one",),
}
TESTS = {
    f"{file.stem.removeprefix('test_probe_')}::{name}"
    for file in Path(__file__).parent.glob("test_probe_*.py")
    for name in re.findall(r"^def test_(\w+)", file.read_text(), re.MULTILINE)
}
NAMES = {stream.name for stream in STREAMS.values()}


@pytest.mark.parametrize("what", [*PITFALLS, *BUGS])
def test_it_is_held_by_a_test(what: str) -> None:
    held = {**PITFALLS, **BUGS}[what]
    assert held and not {*held} - NAMES - TESTS


def test_none_is_left_out() -> None:
    assert [int(what.split()[0]) for what in PITFALLS] == list(range(1, 41))
    assert [int(what.split()[0]) for what in BUGS] == list(range(1, 46))
