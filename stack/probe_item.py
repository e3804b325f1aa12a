"""One probe as an item of `inferwatch probe --json`; docs/probe-result.schema.json describes it."""

from exporters.probe.asking.run import ProbeResult

SUCCESS = "success"


def as_item(result: ProbeResult, server_version: str | None) -> dict[str, object]:
    """Return a result for scripts; None is undefined, not reached or not told.

    Args:
        result: What was measured.
        server_version: The version that the target's server gives.
    """
    return {
        "target": result.target,
        "scenario": result.scenario,
        "model_name": result.model_name,
        "success": result.outcome == SUCCESS,
        "outcome": result.outcome,
        "detail": result.detail,
        "status_code": result.status_code,
        "finish_reason": result.finish_reason,
        "checks_passed": result.checks_passed,
        "ttft_seconds": result.ttft_seconds,
        "tpot_seconds": result.tpot_seconds,
        "e2e_seconds": result.e2e_seconds,
        "ttfr_seconds": result.ttfr_seconds,
        "ttfo_seconds": result.ttfo_seconds,
        "output_tokens": result.output_tokens,
        "prompt_tokens": result.prompt_tokens,
        "token_source": result.token_source,
        "buffered": result.buffered,
        "primed": None if result.primed is None else not result.primed.problem,
        "phases": result.phases,
        "server_seconds": dict(result.server_seconds),
        "response_model": result.response_model,
        "system_fingerprint": result.fingerprint,
        "server_version": server_version,
        "retry_after_seconds": result.retry_after_seconds,
    }
