import os
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferwatch.config import Auth
from inferwatch.config.auth import SecretHeader
from inferwatch.secrets import LARGEST_SECRET_BYTES, SecretError, auth_headers

KEY = "sk-do-not-print-me"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(KEY)
    return file


def test_no_auth_means_no_header():
    assert auth_headers(None) == {}


def test_bearer_from_file(key_file):
    assert auth_headers(Auth(bearer_file=str(key_file))) == {"Authorization": f"Bearer {KEY}"}


def test_bearer_from_environment():
    assert auth_headers(Auth(bearer_env="LLM_KEY"), {"LLM_KEY": KEY}) == {"Authorization": f"Bearer {KEY}"}


def test_header_from_file_and_environment(key_file):
    from_file = Auth(header=SecretHeader(name="api-key", file=str(key_file)))
    from_environment = Auth(header=SecretHeader(name="api-key", env="LLM_KEY"))
    assert auth_headers(from_file) == {"api-key": KEY}
    assert auth_headers(from_environment, {"LLM_KEY": KEY}) == {"api-key": KEY}


def test_a_header_may_hold_a_whole_authorization(key_file):
    key_file.write_text(f"Bearer {KEY}")
    auth = Auth(header=SecretHeader(name="Authorization", file=str(key_file)))
    assert auth_headers(auth) == {"Authorization": f"Bearer {KEY}"}


def test_a_rotated_key_is_used_at_once(key_file):
    auth = Auth(bearer_file=str(key_file))
    auth_headers(auth)
    key_file.write_text("second")
    assert auth_headers(auth) == {"Authorization": "Bearer second"}


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_one_line_end_is_dropped(key_file, ending):
    key_file.write_bytes(KEY.encode() + ending.encode())
    assert auth_headers(Auth(bearer_file=str(key_file))) == {"Authorization": f"Bearer {KEY}"}


BAD = {
    "empty": (b"", "is empty"),
    "only a line end": (b"\n", "is empty"),
    "blank": (b"  \n", "is empty"),
    "two line ends": (KEY.encode() + b"\n\n", "more than one line"),
    "two lines": (KEY.encode() + b"\nsecond\n", "more than one line"),
    "leading space": (b" " + KEY.encode(), "begins or ends with a space"),
    "trailing space": (KEY.encode() + b" \n", "begins or ends with a space"),
    "not latin-1": (KEY.encode() + "\N{EURO SIGN}".encode(), "HTTP header cannot carry"),
    "byte order mark": (b"\xef\xbb\xbf" + KEY.encode(), "HTTP header cannot carry"),
    "not UTF-8": (KEY.encode() + b"\xff\xfe", "HTTP header cannot carry"),
    "NUL": (KEY.encode() + b"\x00", "HTTP header cannot carry"),
    "escape": (KEY.encode() + b"\x1b[0m", "HTTP header cannot carry"),
    "a word too many": (b"Bearer " + KEY.encode(), "begins with the word Bearer"),
    "too large": (KEY.encode() * LARGEST_SECRET_BYTES, f"more than {LARGEST_SECRET_BYTES} bytes"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_named_and_not_shown(key_file, content, message):
    key_file.write_bytes(content)
    with pytest.raises(SecretError, match=message) as caught:
        auth_headers(Auth(bearer_file=str(key_file)))
    assert f"auth.bearer_file: {key_file}" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None or KEY not in repr(caught.value.__context__)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SecretError, match="there is no such file; create it"):
        auth_headers(Auth(bearer_file=str(tmp_path / "absent")))


def test_a_folder_is_no_secret(tmp_path):
    with pytest.raises(SecretError, match="cannot be read: Is a directory"):
        auth_headers(Auth(bearer_file=str(tmp_path)))


def test_a_file_that_the_system_refuses(key_file):
    loop = key_file.with_name("loop")
    loop.symlink_to(loop)
    with pytest.raises(SecretError, match="cannot be read: Too many levels of symbolic links"):
        auth_headers(Auth(bearer_file=str(loop)))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_named(key_file):
    key_file.chmod(0)
    with pytest.raises(SecretError, match="cannot be read: Permission denied; give this process's user"):
        auth_headers(Auth(bearer_file=str(key_file)))


def test_a_path_that_is_none():
    with pytest.raises(SecretError, match="this is no path"):
        auth_headers(Auth(bearer_file="/a\0b"))


def test_a_variable_that_is_not_set():
    with pytest.raises(SecretError, match=r"auth\.bearer_env: the environment variable LLM_KEY is not set"):
        auth_headers(Auth(bearer_env="LLM_KEY"), {})


def test_an_empty_variable():
    with pytest.raises(SecretError, match=r"auth\.header\.env: the environment variable LLM_KEY is empty"):
        auth_headers(Auth(header=SecretHeader(name="api-key", env="LLM_KEY")), {"LLM_KEY": ""})


@given(st.text())
def test_any_value_is_a_header_or_an_error_without_it(value):
    try:
        header = auth_headers(Auth(bearer_env="LLM_KEY"), {"LLM_KEY": value})["Authorization"]
    except SecretError as error:
        # Very short values may be part of the sentence's own words.
        assert len(value) < 12 or value not in str(error)
    else:
        assert header.encode("latin-1")
        assert "\n" not in header and "\r" not in header
