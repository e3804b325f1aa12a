import json
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferwatch import logs


@pytest.fixture(autouse=True)
def logging_as_before():
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    chatty = {name: logging.getLogger(name).level for name in ("apscheduler", "urllib3")}
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    for name, before in chatty.items():
        logging.getLogger(name).setLevel(before)


def record(message: str, *args: object, exc_info=None) -> logging.LogRecord:
    made = logging.LogRecord("exporters.gpu", logging.WARNING, "file.py", 1, message, args, exc_info)
    made.created, made.msecs = 1_700_000_000.0, 7.0
    return made


def test_logfmt():
    line = logs._Formatter("logfmt").format(record("GPU %s is lost", 3))
    assert line == 'ts=2023-11-14T22:13:20.007Z level=warning component=exporters.gpu msg="GPU 3 is lost"'


def test_json():
    line = logs._Formatter("json").format(record("GPU %s is lost", 3))
    assert json.loads(line) == {
        "ts": "2023-11-14T22:13:20.007Z",
        "level": "warning",
        "component": "exporters.gpu",
        "msg": "GPU 3 is lost",
    }


@pytest.mark.parametrize("style", ["logfmt", "json"])
def test_a_traceback_stays_on_one_line(style):
    try:
        raise ValueError("wrong")
    except ValueError:
        line = logs._Formatter(style).format(record("failed", exc_info=sys.exc_info()))
    assert "\n" not in line
    assert "ValueError: wrong" in line


@pytest.mark.parametrize(
    ("value", "written"),
    [("plain", "plain"), ("", '""'), ("two words", '"two words"'), ("a=b", '"a=b"'), ("end\n", r'"end\n"'),
     ("\x1b[31mred", r'"\u001b[31mred"'), ("gr\u00fcn", "gr\u00fcn"), ("back\\slash", r'"back\\slash"')],
)  # fmt: skip
def test_logfmt_quotes_what_could_be_misread(value, written):
    assert logs._logfmt(value) == written


@given(st.text())
def test_no_message_can_forge_a_line(message):
    for style in ("logfmt", "json"):
        line = logs._Formatter(style).format(record("%s", message))
        assert len(line.splitlines()) == 1
        assert line.isprintable()


def test_configure_sets_level_and_quiets_libraries(capsys):
    logs.configure("debug", "json")
    logging.getLogger("exporters.gpu").debug("seen")
    logging.getLogger("urllib3.connectionpool").debug("not seen")
    logging.getLogger("apscheduler.scheduler").warning("not seen: a job is late")
    assert [json.loads(line)["msg"] for line in capsys.readouterr().err.splitlines()] == ["seen"]


def test_configure_at_error_keeps_libraries_as_quiet(capsys):
    logs.configure("error")
    logging.getLogger("apscheduler").warning("not seen")
    assert capsys.readouterr().err == ""
