"""Whom probes trust and who they say they are: authorities and client certificates, read again when they change."""

import os
import ssl
from functools import lru_cache
from pathlib import Path

from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.ssl_ import create_urllib3_context

from exporters.probe.failures import ProbeError
from inferwatch import pem
from inferwatch.config.connection import Tls

_KEYS: dict[pem.Part, str] = {"certificate": "tls.cert_file", "key": "tls.key_file", "authority": "tls.ca_file"}
_State = tuple[int, int, int] | None


def authorities() -> str:
    """Return the file of the certificate authorities that are trusted where a target names none."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
    return named or str(DEFAULT_CA_BUNDLE_PATH)


def trusted_context(tls: Tls | None = None) -> ssl.SSLContext:
    """Return the context of a request with the files in their state of this moment.

    Args:
        tls: What the target's section of that name says.

    Raises:
        ProbeError: If one of the files cannot be used; the text names it and its key, and says what to do.
    """
    tls = tls or Tls.model_construct()
    trusted = tls.ca_file or authorities()
    files = tuple(file for file in (trusted, tls.cert_file, tls.key_file) if file is not None)
    try:
        return _context(tls, trusted, tuple(_state(file) for file in files))
    except pem.PemError as error:
        if error.part == "authority" and tls.ca_file is None:
            advice = "correct REQUESTS_CA_BUNDLE (or SSL_CERT_FILE) or unset it"
            raise ProbeError("tls", f"{trusted} holds no certificates of authorities; {advice}") from None
        raise ProbeError("tls", f"{_KEYS[error.part]}: {error}") from None


# Kept, since reading the usual authorities outlasts a handshake; a file in another state makes another context.
@lru_cache(maxsize=64)
def _context(tls: Tls, trusted: str, states: tuple[_State, ...]) -> ssl.SSLContext:  # noqa: ARG001 - part of the key
    wanted: list[tuple[str | None, pem.Part]] = [
        (trusted, "authority"),
        (tls.cert_file, "certificate"),
        (tls.key_file, "key"),
    ]
    for file, part in wanted:
        if file is not None and (problem := pem.problem(Path(file), part)):
            raise pem.PemError(part, problem)
    context = create_urllib3_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    pem.load_authority(context, Path(trusted))
    if tls.cert_file is not None and tls.key_file is not None:
        pem.load_pair(context, Path(tls.cert_file), Path(tls.key_file))
    return context


def _state(file: str) -> _State:
    try:
        stat = Path(file).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size
