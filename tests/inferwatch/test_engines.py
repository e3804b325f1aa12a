from pathlib import Path

import pytest

from inferwatch.engines import ENGINES_FOLDER, engine_names, load_engines, recognise
from inferwatch.errors import ConfigError

VALID = """\
name: fast
title: Fast
verified: docs
versions: "1"
detect: {metric_prefixes: ["fast:"]}
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
    prefixes = [(prefix, engine.name) for engine in load_engines().values() for prefix in engine.detect.metric_prefixes]
    for prefix, name in prefixes:
        claimed = [other for start, other in prefixes if other != name and start.startswith(prefix)]
        assert not claimed, f"{name} and {claimed} both claim {prefix}"


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
        ("metrics_path: /metrics", "metrics_path: metrics", "fast.yml:6: metrics_path: write a path that begins"),
        ('["fast:"]', "[]", "fast.yml:5: detect: give at least one way: metric_prefixes"),
        ("own_model_name: true", "own_model_name: yes", "fast.yml:7: own_model_name: write true or false, not 'yes'"),
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
