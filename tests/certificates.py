"""Certificates made by openssl for the tests."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


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

    def sign(self, name: str, alternative_name: str = "DNS:localhost,IP:127.0.0.1", days: int = 2) -> None:
        """Make `name.pem` and `name.key`, anew if they are there; with days below 0 it has expired."""
        (self.folder / "extensions").write_text(f"subjectAltName={alternative_name}")
        self._run("req", "-new", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days), "-extfile", "extensions"]
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
