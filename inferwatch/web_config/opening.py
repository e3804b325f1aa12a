"""A web configuration file, read and checked: what it means for a server is an `Access`."""

from pathlib import Path

from inferwatch import strict_yaml
from inferwatch.errors import ConfigError
from inferwatch.strict_yaml import FindingsError
from inferwatch.strict_yaml.files import in_file
from inferwatch.web_config.access import Access
from inferwatch.web_config.model import WebConfig
from inferwatch.web_config.passwords import Passwords
from inferwatch.web_config.tls import files_of, server_context


def open_access(file: Path) -> Access:
    """Read the file and the certificates that it names.

    Raises:
        ConfigError: With one problem per finding, each with its line.
    """
    config, lines = _read(file)
    context = None
    if config.tls_server_config is not None:
        try:
            context = server_context(config.tls_server_config, file.parent)
        except FindingsError as error:
            found: list[strict_yaml.Finding] = [(("tls_server_config", *path), said) for path, said in error.found]
            raise ConfigError(in_file(file.name, lines, found)) from None
    names = config.tls_server_config.client_allowed_sans if config.tls_server_config else ()
    return Access(
        tls=context,
        client_names=frozenset(names),
        passwords=Passwords(config.basic_auth_users) if config.basic_auth_users else None,
        headers=tuple((name, value) for name, value in config.http_server_config.headers.items() if value),
        summary=_summary(config),
    )


def watched_files(file: Path) -> list[Path]:
    """Return the file and, as far as it can be read, the certificates and keys that it names."""
    try:
        config, _ = _read(file)
    except ConfigError:
        return [file]
    return [file, *(files_of(config.tls_server_config, file.parent) if config.tls_server_config else ())]


def _read(file: Path) -> tuple[WebConfig, dict[strict_yaml.Path, int]]:
    text = strict_yaml.file_text(file, "write one as docs/web-config.md says, or leave --web.config.file out")
    data, lines = strict_yaml.mapping(text, file.name)
    if not data:
        # An editor or a full disk leaves an empty file behind, which must not open the door.
        raise ConfigError([f"{file.name}:1: the file is empty; for plain HTTP leave --web.config.file out"])
    return strict_yaml.validate(data, lines, file.name, WebConfig), lines


def _summary(config: WebConfig) -> str:
    tls = config.tls_server_config
    way = "plain HTTP" if tls is None else "TLS"
    if tls is not None and tls.client_auth_type != "NoClientCert":
        way += " with client certificates" + (
            "" if tls.client_auth_type.startswith("Require") else " where one is shown"
        )
    users = len(config.basic_auth_users)
    return f"{way}, {users} user{'' if users == 1 else 's'} with a password" if users else f"{way} without passwords"
