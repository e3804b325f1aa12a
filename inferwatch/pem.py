"""Certificates and keys from files in PEM form, with sentences for the person who keeps them."""

import ssl
from pathlib import Path
from typing import Literal, NoReturn

from inferwatch.errors import InferwatchError

Part = Literal["certificate", "key", "authority"]
_MARKS: dict[Part, tuple[str, str]] = {
    "certificate": ("CERTIFICATE-----", "certificate"),
    "key": ("PRIVATE KEY-----", "private key"),
    "authority": ("CERTIFICATE-----", "certificate"),
}


class PemError(InferwatchError):
    """A file cannot be what it is named as; the text names it and repeats nothing that it holds.

    Attributes:
        part: What the file was to hold.
    """

    def __init__(self, part: Part, sentence: str) -> None:
        super().__init__(sentence)
        self.part = part


def problem(file: Path, part: Part, absent: str = "create it, or mount it where this process runs") -> str:
    """Say why a file cannot be what it is named as; empty when it may be.

    Args:
        file: The file.
        part: What it is to hold.
        absent: What to do where there is no such file.
    """
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return f"there is no file {file}; {absent}"
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}; let this process's user read it"
    mark, word = _MARKS[part]
    return "" if mark.encode() in text else f"{file} holds no {word} in PEM form"


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Let a context present a certificate; raises PemError."""

    def refuse() -> NoReturn:
        # OpenSSL would ask on the terminal.
        raise PemError(
            "key", f"{key} asks for a passphrase; store the key without one, readable only by this process's user"
        )

    try:
        context.load_cert_chain(certificate, key, password=refuse)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            sentence = f"{key} is not the key of {certificate}; name the pair that belongs together"
            raise PemError("key", sentence) from None
        sentence = f"{certificate} and {key} cannot be used: {_reason(error)}; write both anew, in PEM form"
        raise PemError("certificate", sentence) from None
    except OSError as error:
        raise PemError("certificate", f"{certificate} cannot be read: {error.strerror}") from None


def load_authority(context: ssl.SSLContext, file: Path) -> None:
    """Let a context trust the authorities in a file; raises PemError."""
    try:
        context.load_verify_locations(file)
    except OSError as error:
        sentence = f"{file} cannot be used: {_reason(error)}; write the authority's certificate in PEM form"
        raise PemError("authority", sentence) from None


def _reason(error: OSError) -> str:
    named = getattr(error, "reason", None) or error.strerror or type(error).__name__
    return str(named).replace("_", " ").lower()
