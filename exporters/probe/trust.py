"""Which certificate authorities probes trust."""

import os
import ssl
from functools import lru_cache

from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util.ssl_ import create_urllib3_context

from exporters.probe.failures import ProbeError


def authorities() -> str:
    """Return the file of the certificate authorities that probes trust."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
    return named or str(DEFAULT_CA_BUNDLE_PATH)


@lru_cache(maxsize=4)
def tls_context(authorities_file: str) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a file; it is kept, for reading them outlasts a handshake.

    Raises:
        OSError: If the file holds no certificates that can be read.
    """
    context = create_urllib3_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    context.load_verify_locations(cafile=authorities_file)
    return context


def trusted_context() -> ssl.SSLContext:
    """Return the context of every probe.

    Raises:
        ProbeError: If the file of the authorities cannot be read.
    """
    file = authorities()
    try:
        return tls_context(file)
    except OSError:
        advice = "correct REQUESTS_CA_BUNDLE (or SSL_CERT_FILE) or unset it"
        raise ProbeError("tls", f"{file} holds no certificates of authorities that can be read; {advice}") from None
