"""All captures with what is expected of them."""

import engine_cases_captured
import engine_cases_source
import engine_cases_vllm

CASES = [*engine_cases_vllm.CASES, *engine_cases_captured.CASES, *engine_cases_source.CASES]
# What the captures hold nothing of, so that no value can be expected: engine -> recorded name -> why.
NOT_CAPTURED = {
    "llamacpp": {"spec_decode_acceptance_ratio:5m": "nothing was drafted"},
    "lmdeploy": {"spec_decode_acceptance_ratio:5m": "nothing was drafted"},
    "litellm": {"requests_rejected:rate5m": "no request was refused"},
    "dynamo-frontend": {
        "requests_failed:rate5m": "only a request for an unknown model failed",
        "max_context_tokens": "the mocker says 0, which is none",
    },
}
