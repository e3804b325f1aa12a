from pathlib import Path

import pytest

from inferwatch.engines import (
    ENGINES_FOLDER,
    engine_names,
    info_paths,
    load_engines,
    recognise,
    recognise_headers,
    recognise_info,
    recognise_models,
)
from inferwatch.errors import ConfigError

VALID = """\
name: fast
title: Fast
verified: docs
versions: "1"
detect: {metric_prefixes: ["fast:"]}
enable: on by default
metrics_path: /metrics
own_model_name: true
concepts: {}
"""


def load(folder: Path, text: str, name: str = "fast.yml"):
    (folder / name).write_text(text)
    return load_engines(folder)


def test_every_engine_file_loads():
    assert set(engine_names()) == {file.stem for file in ENGINES_FOLDER.glob("*.yml")}
    assert {"vllm", "llamacpp"} <= set(engine_names())


def test_no_two_engines_claim_the_same_metrics():
    prefixes = [
        (prefix, engine.name)
        for engine in load_engines().values()
        if not engine.detect.passes_on
        for prefix in engine.detect.metric_prefixes
    ]
    for prefix, name in prefixes:
        claimed = [other for start, other in prefixes if other != name and start.startswith(prefix)]
        assert not claimed, f"{name} and {claimed} both claim {prefix}"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (recognise_models(["vllm"]), "vllm"),
        (recognise_models(["library", "library"]), "ollama"),
        (recognise_models(["somebody"]), None),
        (recognise_models(["vllm", "sglang"]), None),
        (recognise_headers({"Server": "llama.cpp"}), "llamacpp"),
        (recognise_headers({"server": "llama.cpp.proxy"}), None),
        (recognise_headers({"X-LiteLLM-Version": "1.95.1"}), "litellm"),
        (recognise_info("/api/version", {"version": "0.12"}), "ollama"),
        (recognise_info("/version", {"version": "0.32.0"}), None),
        (
            recognise_info("/props", {"default_generation_settings": {}, "total_slots": 4, "build_info": "b1"}),
            "llamacpp",
        ),
        (recognise_info("/props", {"total_slots": 4}), None),
        (recognise_info("/props", ["total_slots"]), None),
    ],
)
def test_recognised_by_other_ways(given, name):
    assert (given.name if given else None) == name


def test_documents_are_asked_for_only_where_they_name_an_engine():
    assert "/props" in info_paths()
    assert "/version" not in info_paths()


def test_what_passes_another_engines_metrics_on_is_taken_first():
    page = 'vllm:num_requests_running{model_name="m"} 1\n'
    assert recognise(page).name == "vllm"
    assert recognise(page + 'vllm:current_qps{server="a"} 1\n').name == "production-stack"
    assert recognise(page + 'dynamo_component_requests_total{worker_id="1"} 1\n').name == "dynamo-worker"
    assert recognise(page + 'nv_inference_count{model="m"} 1\n').name == "triton-vllm"


def test_an_engine_that_is_like_another_has_its_metrics_under_its_own_names():
    vllm, ray = load_engines()["vllm"], load_engines()["ray-serve"]
    assert ray.gauges["requests_running"] == ["ray_vllm_num_requests_running"]
    assert set(ray.histograms) == set(vllm.histograms)
    assert "vllm:" not in ray.model_dump_json(include={"histograms", "gauges", "counters", "quotients", "concepts"})
    assert ray.reason_label == vllm.reason_label


def test_an_engine_like_one_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"fast\.yml: like\.engine is 'slow'; write one of"):
        load(tmp_path, VALID + 'like: {engine: slow, prefix: "slow:", becomes: "fast:"}\n')


def test_a_pattern_that_is_no_regular_expression(tmp_path):
    bad = VALID.replace('{metric_prefixes: ["fast:"]}', '{headers: {server: "("}}')
    with pytest.raises(ConfigError, match="write a regular expression"):
        load(tmp_path, bad)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('vllm:num_requests_running{model_name="m"} 1.0', "vllm"),
        ("llamacpp:requests_processing 0", "llamacpp"),
        ("# HELP vllm:num_requests_running only a comment", None),
        ("go_goroutines 8", None),
        ("", None),
    ],
)
def test_recognise(line, name):
    engine = recognise(f"# TYPE x gauge\n\nx 1\n{line}\n")
    assert (engine.name if engine else None) == name


def test_a_valid_file(tmp_path):
    assert load(tmp_path, VALID)["fast"].authorization == "none"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("verified: docs", "verified: guess", "fast.yml:3: verified: write live or source or docs, not 'guess'"),
        ("metrics_path: /metrics", "metrics_path: metrics", "fast.yml:7: metrics_path: write a path that begins"),
        ("own_model_name: true", "own_model_name: yes", "fast.yml:8: own_model_name: write true or false, not 'yes'"),
        ("title: Fast", "tittle: Fast", "fast.yml:2: tittle: unknown key; did you mean title?"),
        ("name: fast", "name: slow", "fast.yml: name is 'slow'; write 'fast', as the file is called"),
        ("name: fast", "name: [", "got ':'; it begins in line 1"),
    ],
)
def test_a_bad_file_is_explained(tmp_path, old, new, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, VALID.replace(old, new))
    assert message in str(caught.value)


def test_a_folder_without_engine_files(tmp_path):
    with pytest.raises(ConfigError, match="holds no engine files; run inferwatch from a checkout or its image"):
        load_engines(tmp_path)
