"""Certificates made by openssl for the tests, and web configurations that name them."""

import ssl
import subprocess
import urllib.error
import urllib.request
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import bcrypt

PASSWORD = "a right password"
USER = "prometheus"
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def hashed(password: str = PASSWORD, cost: int = 4) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


@dataclass(frozen=True)
class Authority:
    """A certificate authority of its own, whose certificate is `ca.pem` in the folder."""

    openssl: Path
    folder: Path

    @classmethod
    def make(cls, openssl: Path, folder: Path) -> "Authority":
        authority = cls(openssl, folder)
        authority._run("req", "-x509", *NEW_KEY, "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
        return authority

    def sign(self, name: str, alternative_name: str = "DNS:localhost,IP:127.0.0.1") -> None:
        """Make `name.pem` and `name.key`, anew if they are there."""
        (self.folder / "extensions").write_text(f"subjectAltName={alternative_name}")
        self._run("req", "-new", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions"]
        self._run("x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem")

    def encrypt(self, name: str) -> None:
        """Make `name.encrypted`, the key behind a passphrase."""
        self._run("pkey", "-in", f"{name}.key", "-aes256", "-passout", "pass:open", "-out", f"{name}.encrypted")

    def serial(self, name: str) -> int:
        """Return the serial number of a certificate."""
        return int(self._run("x509", "-in", f"{name}.pem", "-noout", "-serial").partition("=")[2], 16)

    def client(self, name: str = "") -> ssl.SSLContext:
        """Return what a client shakes hands with that trusts this authority, showing a certificate if one is named."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        if name:
            context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        return context

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([self.openssl, *arguments], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


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
