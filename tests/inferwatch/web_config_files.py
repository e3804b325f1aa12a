"""Web configurations for the tests, and requests to what they guard."""

import ssl
import urllib.error
import urllib.request
from base64 import b64encode

import bcrypt

PASSWORD = "a right password"
USER = "prometheus"


def hashed(password: str = PASSWORD, cost: int = 4) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


TLS = "tls_server_config: {cert_file: server.pem, key_file: server.key"


def basic(user: str = USER, password: str = PASSWORD) -> str:
    """Return the value of the header Authorization."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def get(url: str, context: ssl.SSLContext | None = None, authorization: str | None = None) -> tuple[int, str]:
    """Return status and body."""
    request = urllib.request.Request(url, headers={"Authorization": authorization} if authorization else {})
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
