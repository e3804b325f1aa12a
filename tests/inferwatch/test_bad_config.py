"""Each file in bad/ begins with the errors that it must give, without the file's name; `...` ends a part of one."""

from pathlib import Path

import pytest

from inferwatch.config import load_config
from inferwatch.errors import ConfigError

FIXTURES = sorted((Path(__file__).parent / "bad").glob("*.yml"))
MARK = b"# error: "


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_a_bad_file_is_explained(file):
    expected = [line.removeprefix(MARK).decode() for line in file.read_bytes().splitlines() if line.startswith(MARK)]
    with pytest.raises(ConfigError) as caught:
        load_config(file, {})
    problems = [problem.removeprefix(f"{file.name}:") for problem in caught.value.problems]
    assert len(problems) == len(expected)
    for problem, wanted in zip(problems, expected, strict=True):
        assert problem.startswith(wanted.removesuffix("...")) if wanted.endswith("...") else problem == wanted
    assert "secret@" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "api_key" not in str(caught.value)
