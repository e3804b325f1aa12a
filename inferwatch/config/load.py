"""Reading `inferwatch.yml`, and the target of the environment where the file names none."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from inferwatch import strict_yaml
from inferwatch.config import environment
from inferwatch.config.environment import ENV_URL
from inferwatch.config.files import Files
from inferwatch.config.model import Config
from inferwatch.errors import ConfigError
from inferwatch.strict_yaml.advice import problems
from inferwatch.strict_yaml.files import Lines, in_file

log = logging.getLogger(__name__)


def load_config(file: Path, environ: Mapping[str, str] = os.environ, *, option: str | None = None) -> Config:
    """Read and check the file.

    Args:
        file: The file.
        environ: Environment variables, which may describe a target.
        option: What names another file on the command line, for the error of one that is not there.

    Raises:
        ConfigError: If it is absent, unreadable, not YAML, or not a valid configuration.
    """
    return parse_config(strict_yaml.file_text(file, when_absent(option)), file.name, environ, Files(file.parent))


def when_absent(option: str | None) -> str:
    """Return what to do about a configuration that is not there."""
    advice = "start from config/inferwatch.example.yml"
    return f"{advice}, or name another with {option}" if option is not None else advice


def parse_config(text: str, name: str, environ: Mapping[str, str] = os.environ, files: Files | None = None) -> Config:
    """Check the text of a configuration.

    Args:
        text: What the file holds.
        name: What errors call it.
        environ: Environment variables, which may describe a target.
        files: Reads the files that the text names; by default relative to the current folder.

    Raises:
        ConfigError: With one problem per finding.
    """
    data, lines = strict_yaml.mapping(text, name)
    if data.get("targets"):
        if environ.get(ENV_URL, "").strip():
            log.warning("%s is ignored, since %s has targets of its own", ENV_URL, name)
    elif target := environment.target_from(environ):
        return _with_environment(data, lines, name, target, files)
    elif lonely := environment.without_url(environ):
        raise ConfigError([f"{lonely[0]}: is set, but {ENV_URL} is not; set both, or neither"])
    return strict_yaml.validate(data, lines, name, Config, files)


def _with_environment(
    data: dict[str, object], lines: Lines, name: str, target: dict[str, object], files: Files | None
) -> Config:
    try:
        return Config.model_validate(data | {"targets": [target]}, context=files)
    except ValidationError as error:
        found = list(problems(error, Config))
    variables = [environment.sentence(path, text) for path, text in found if path[:1] == ("targets",)]
    elsewhere = [finding for finding in found if finding[0][:1] != ("targets",)]
    raise ConfigError(variables + in_file(name, lines, elsewhere))
