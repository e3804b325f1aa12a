"""Secrets are blotted out of what is shown, in whatever spelling and however they are spread."""

import base64
import json
import random
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_helpers import target

from exporters.probe.redaction import BLOT, Redaction

KEY = 'sk-Hidden/"key"+with=all&kinds'
REDACTION = Redaction([f"Bearer {KEY}"])


@pytest.mark.parametrize(
    "said",
    [
        KEY,
        KEY.upper(),
        f"Bearer {KEY}",
        json.dumps(KEY)[1:-1],
        quote(KEY, safe=""),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
        # Cut off, as an answer by max_tokens.
        KEY[:17],
    ],
)
def test_every_spelling_is_hidden(said: str) -> None:
    shown = REDACTION.text(f"the key is {said}, is it not?")
    assert said not in shown and said[:8].lower() not in shown.lower() and BLOT in shown
    assert shown.startswith("the key is ")


@given(st.text(max_size=30), st.text(max_size=30), st.integers(0, 2**32))
def test_a_key_that_is_spread_over_parts_is_hidden_in_all(before: str, after: str, seed: int) -> None:
    whole = before + KEY + after
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(len(whole) + 1), draw.randint(0, min(9, len(whole)))))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    shown = REDACTION.parts(parts)
    assert len(shown) == len(parts)
    assert KEY not in "".join(shown)
    assert "".join(shown) == REDACTION.text(whole)


def test_only_secrets_are_hidden() -> None:
    parts = ["one ", "two", " three ", "", "four"]
    assert REDACTION.parts(parts) == parts
    assert Redaction([]).parts(parts) == parts
    assert Redaction([""]).text("anything") == "anything"


@pytest.mark.parametrize(
    "other",
    [
        "sk-proj-abcdefghijklmnop",
        "hf_abcdefghijklmnop",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl",
    ],
)
def test_what_has_the_form_of_a_key_is_hidden_too_but_not_in_a_label(other: str) -> None:
    assert REDACTION.text(f"use {other}!") == f"use {BLOT}!"
    assert REDACTION.known(other) == other


def test_a_bearer_of_somebody_else_is_hidden() -> None:
    assert REDACTION.text("Authorization: Bearer abcdefghijklmnop") == f"Authorization: Bearer {BLOT}"


def test_documents_are_gone_through() -> None:
    document = {"messages": [{"content": KEY, KEY: 1}], "n": 2, "stop": None, "stream": True}
    found = REDACTION.document(document)
    assert found == {"messages": [{"content": BLOT, BLOT: 1}], "n": 2, "stop": None, "stream": True}


def test_a_placeholder_is_a_word_in_labels_and_hidden_where_texts_are_shown() -> None:
    placeholder = Redaction(["Bearer ollama"])
    assert placeholder.known("ollama/llama3") == "ollama/llama3"
    assert placeholder.text("ollama/llama3") == f"{BLOT}/llama3"


def test_the_login_of_a_proxy_and_the_headers_of_a_target(tmp_path: Path) -> None:
    for name, value in (("key", "header-secret"), ("login", "user:proxy password")):
        (tmp_path / name).write_text(value)
    redaction = Redaction.of(
        target(
            "http://h/v1",
            auth={"header": {"name": "X-Api-Key", "file": str(tmp_path / "key")}},
            proxy="http://proxy:3128",
            proxy_auth_file=str(tmp_path / "login"),
        ),
        ["Bearer the key before"],
    )
    login = base64.b64encode(b"user:proxy password").decode()
    for secret in ("header-secret", "user:proxy password", "proxy password", login, "the key before"):
        assert redaction.text(f"({secret})") == f"({BLOT})"
    (tmp_path / "key").unlink()
    assert Redaction.of(target("http://h/v1", auth={"bearer_file": str(tmp_path / "key")})).text("a") == "a"
