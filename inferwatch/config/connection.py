"""How requests to a target travel: whom they trust, who they say they are, and through which proxy."""

from typing import Literal

from pydantic import model_validator

from inferwatch.config.fields import File, SecretFile
from inferwatch.strict_yaml import FindingsError, Strict

# A new one for each probe, or one that is kept from probe to probe.
Connection = Literal["new", "reuse"]


class Tls(Strict):
    """Files in PEM form; all are read again when they change."""

    ca_file: File | None = None
    cert_file: File | None = None
    key_file: SecretFile | None = None

    @model_validator(mode="after")
    def _a_pair(self) -> "Tls":
        if self.key_file is not None and self.cert_file is None:
            raise FindingsError([(("key_file",), "this needs cert_file: with the certificate that the key belongs to")])
        if self.cert_file is not None and self.key_file is None:
            raise FindingsError([(("cert_file",), "this needs key_file: with the key that belongs to the certificate")])
        if self.ca_file is None and self.cert_file is None:
            raise ValueError("give ca_file, or cert_file and key_file, or all of them")
        return self
