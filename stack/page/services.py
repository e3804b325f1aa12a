"""The services file of the start page: which parts there are, how their health is asked, where a person opens them."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from inferwatch.strict_yaml import Finding, FindingsError, Strict, file_text, parse


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("write a URL such as http://127.0.0.1:9090")
    return value.rstrip("/")


Url = Annotated[str, AfterValidator(_web_address)]


_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+):-([^}]*)\}")


class Service(Strict):
    """One part of the stack.

    Attributes:
        name: The key under which the supervisor's status file holds it.
        health_url: Asked by the page; without it only the status file tells.
        public_url: What the page links to, as a browser reaches it.
        note: What the part does, in a few words.
        optional: Whether it may be absent; then it reads as "not started" and not as an error.
        start_with: The command that starts an optional part.
    """

    name: str = Field(min_length=1)
    title: str = ""
    health_url: Url | None = None
    public_url: Url | None = None
    note: str = ""
    optional: bool = False
    start_with: str = ""

    @property
    def shown_title(self) -> str:
        """What a person reads."""
        return self.title or self.name


class Services(Strict):
    """The whole file.

    Attributes:
        status_file: Where the supervisor writes the state of its children, if there is a supervisor.
        notes: Sentences that the page shows as they are.
    """

    prometheus_url: Url
    alertmanager_url: Url | None = None
    services: list[Service] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    status_file: str | None = None

    @model_validator(mode="after")
    def _named_once(self) -> "Services":
        found: list[Finding] = []
        names: set[str] = set()
        for index, service in enumerate(self.services):
            if service.name in names:
                found.append((("services", index, "name"), f"{service.name!r} is listed twice; use each name once"))
            names.add(service.name)
        return FindingsError.raised(found, self)

    def public_url(self, name: str) -> str | None:
        """Return where a person opens the service of that name, if the file says."""
        return next((service.public_url for service in self.services if service.name == name), None)


def load_services(file: Path, environ: Mapping[str, str] = os.environ) -> Services:
    """Read and check the services file, YAML or JSON; ``${NAME:-default}`` stands for an environment variable.

    Raises:
        ConfigError: If it is absent, unreadable, not YAML, or not valid; one sentence per finding.
    """
    text = _filled(file_text(file, "give the right one with --services.file"), environ)
    return parse(text, file.name, Services)


def _filled(text: str, environ: Mapping[str, str]) -> str:
    # As Compose does it: an empty variable counts as unset.
    return _VARIABLE.sub(lambda found: environ.get(found[1]) or found[2], text)
