"""From a file to a checked model."""

from pathlib import Path as FilePath
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from inferwatch.errors import ConfigError
from inferwatch.strict_yaml.advice import problems
from inferwatch.strict_yaml.findings import Finding, Path
from inferwatch.strict_yaml.reader import (
    LARGEST_FILE_BYTES,
    NO_VALUE,
    UnusableYamlError,
    nearest_line,
    path_text,
    read_yaml,
)

Model = TypeVar("Model", bound=BaseModel)
Lines = dict[Path, int]


def file_text(file: FilePath, when_absent: str) -> str:
    """Return the text of a UTF-8 file without a byte order mark.

    Args:
        file: What to read.
        when_absent: What to do about a file that is not there, for its error.

    Raises:
        ConfigError: If it is absent, cannot be read, is too large or is not UTF-8.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([f"{file}: there is no such file; {when_absent}"]) from None
    except IsADirectoryError:
        todo = "name a file, or remove it if it is empty: Docker makes one where a file to mount is missing"
        raise ConfigError([f"{file}: is a folder, not a file; {todo}"]) from None
    except OSError as error:
        raise ConfigError([f"{file}: cannot be read: {error.strerror}; let this process's user read it"]) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise ConfigError([f"{file.name}:1: the file is larger than {LARGEST_FILE_BYTES} bytes; name the right one"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{file.name}:{line}: this is not UTF-8; save the file as UTF-8"]) from None


def mapping(text: str, name: str) -> tuple[dict[str, object], Lines]:
    """Return the keys of a YAML text and the line of each path; an empty text and an empty section are no keys.

    Raises:
        ConfigError: If the text is not YAML or holds something else than keys.
    """
    try:
        data, lines = read_yaml(text)
    except UnusableYamlError as problem:
        raise ConfigError([f"{name}:{problem.line}: {problem.sentence}"]) from None
    if data is None or data is NO_VALUE:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError([f"{name}:1: the file must hold keys, each with a colon, not a single value or a list"])
    # A section whose every entry is commented out is empty, as a newcomer means it.
    return {key: value for key, value in data.items() if value is not NO_VALUE}, lines


def validate(data: dict[str, object], lines: Lines, name: str, model: type[Model], context: object = None) -> Model:
    """Return the model of the data; `context` is handed to the model's own validators.

    Raises:
        ConfigError: With one problem per finding, in the order of the file.
    """
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        raise ConfigError(in_file(name, lines, list(problems(error, model)))) from None


def in_file(name: str, lines: Lines, found: list[Finding]) -> list[str]:
    """Return each finding as ``inferwatch.yml:14: targets[2].slo.ttft: sentence``, in the order of the file."""
    placed = sorted((nearest_line(path, lines), number) for number, (path, _) in enumerate(found))
    texts = []
    for line, number in placed:
        path, sentence = found[number]
        texts.append(f"{name}:{line}: {path_text(path)}: {sentence}" if path else f"{name}:{line}: {sentence}")
    return texts


def parse(text: str, name: str, model: type[Model]) -> Model:
    """Return the model of a YAML text; `name` is what errors call the file.

    Raises:
        ConfigError: With one problem per finding.
    """
    data, lines = mapping(text, name)
    return validate(data, lines, name, model)
