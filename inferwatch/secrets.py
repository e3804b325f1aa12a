"""Turns `auth:` of a target into request headers; a secret leaves this module only as a header's value.

Secrets are read anew for every request, so that a rotated key is used without a restart.
"""

import os
from collections.abc import Mapping

from inferwatch.config.auth import Auth
from inferwatch.errors import InferwatchError

# A key is far shorter; the limit keeps a wrong path such as /dev/zero from filling memory.
LARGEST_SECRET_BYTES = 16 * 1024


class SecretError(InferwatchError):
    """A secret cannot be used; the text names its file or variable and never holds its value."""


def auth_headers(auth: Auth | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the headers that authorise a request: none, ``Authorization: Bearer KEY``, or the named header.

    Raises:
        SecretError: If the secret is missing, unreadable, empty, longer than a line, or no text for a header.
    """
    if auth is None:
        return {}
    if auth.bearer_file is not None:
        return _bearer(secret_from_file(auth.bearer_file, "auth.bearer_file"), f"auth.bearer_file: {auth.bearer_file}")
    if auth.bearer_env is not None:
        place = f"auth.bearer_env: {auth.bearer_env}"
        return _bearer(_from_environment(auth.bearer_env, "auth.bearer_env", environ), place)
    header = auth.header
    if header is None:
        return {}
    if header.file is not None:
        return {header.name: secret_from_file(header.file, "auth.header.file")}
    return {header.name: _from_environment(header.env or "", "auth.header.env", environ)}


def _bearer(value: str, place: str) -> dict[str, str]:
    if value.lower().startswith("bearer "):
        raise SecretError(f"{place}: begins with the word Bearer, which inferwatch adds itself; keep only the key")
    return {"Authorization": f"Bearer {value}"}


def secret_from_file(path: str, key: str) -> str:
    """Return the secret in a file; `key` is what an error calls the place in the configuration. Raises SecretError."""
    place = f"{key}: {path}"
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - Path.open would turn "" into the current folder
            content = file.read(LARGEST_SECRET_BYTES + 1)
    except FileNotFoundError:
        raise SecretError(f"{place}: there is no such file; create it, or mount it where this process runs") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no path"
        raise SecretError(f"{place}: cannot be read: {reason}; give this process's user a readable file") from None
    if len(content) > LARGEST_SECRET_BYTES:
        raise SecretError(
            f"{place}: holds more than {LARGEST_SECRET_BYTES} bytes; name the file that holds only the key"
        )
    # "replace" instead of an exception, since a UnicodeDecodeError would carry the secret along.
    return _checked(content.decode("utf-8", "replace"), place)


def _from_environment(variable: str, key: str, environ: Mapping[str, str]) -> str:
    place = f"{key}: the environment variable {variable}"
    value = environ.get(variable)
    if value is None:
        raise SecretError(f"{place} is not set; set it for this process")
    return _checked(value, place)


def _checked(value: str, place: str) -> str:
    """Return the secret without its one trailing line end, or say why it cannot be a header's value."""
    value = value.removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise SecretError(f"{place} is empty; write the key into it")
    if "\n" in value or "\r" in value:
        raise SecretError(f"{place} holds more than one line; keep only the line with the key")
    if value != value.strip():
        raise SecretError(f"{place} begins or ends with a space; remove it")
    if any(not _fits_a_header(character) for character in value):
        raise SecretError(
            f"{place} holds a character that an HTTP header cannot carry; keep only the key, as plain text in UTF-8"
        )
    return value


def _fits_a_header(character: str) -> bool:
    """Say whether RFC 9110 section 5.5 lets a header's value hold it: printable and of ISO-8859-1."""
    return character == "\t" or (ord(character) <= 0xFF and character.isprintable()) or character == "\xa0"
