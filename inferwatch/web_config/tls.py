"""From `tls_server_config` to the context that a handshake is made with."""

import ssl
from pathlib import Path
from typing import Any, NoReturn

from inferwatch.strict_yaml import Finding, FindingsError
from inferwatch.web_config.model import CIPHERS, TlsServerConfig

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_CERTIFICATE, _PRIVATE_KEY = "CERTIFICATE-----", "PRIVATE KEY-----"


def server_context(config: TlsServerConfig, folder: Path) -> ssl.SSLContext:
    """Return a context with the certificates in their state of this moment.

    Args:
        config: What the file says.
        folder: Where relative paths start.

    Raises:
        FindingsError: If a certificate or key cannot be used; paths are below `tls_server_config`.
    """
    _check_files(config, folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _VERSIONS[config.min_version], _VERSIONS[config.max_version]
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    if config.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if suites := [CIPHERS[name] for name in config.cipher_suites if name in CIPHERS]:
        context.set_ciphers(":".join(suites))
    _load_certificate(context, folder / config.cert_file, folder / config.key_file)
    if config.client_ca_file is not None:
        _load_client_authority(context, folder / config.client_ca_file)
    context.verify_mode = _VERIFY[config.client_auth_type]
    return context


def files_of(config: TlsServerConfig, folder: Path) -> list[Path]:
    """Return the files whose change means a new context."""
    names = (config.cert_file, config.key_file, config.client_ca_file)
    return [folder / name for name in names if name is not None]


def subject_alternative_names(certificate: dict[str, Any] | None) -> set[str]:
    """Return the names in a client's certificate as `SSLSocket.getpeercert` tells them: DNS, e-mail, IP, URI."""
    names = certificate.get("subjectAltName", ()) if certificate else ()
    return {value for kind, value in names if kind in ("DNS", "email", "IP Address", "URI")}


def _check_files(config: TlsServerConfig, folder: Path) -> None:
    wanted = [("cert_file", config.cert_file, _CERTIFICATE), ("key_file", config.key_file, _PRIVATE_KEY)]
    if config.client_ca_file is not None:
        wanted.append(("client_ca_file", config.client_ca_file, _CERTIFICATE))
    problems = [(key, _problem(folder / name, holds)) for key, name, holds in wanted]
    found: list[Finding] = [((key,), problem) for key, problem in problems if problem]
    FindingsError.raised(found, config)


def _problem(file: Path, holds: str) -> str:
    """Say why a file cannot be what it is named as; empty when it may be. No text of it is repeated."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return f"there is no file {file}; paths are relative to the folder of this file"
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}; let this process's user read it"
    if holds.encode() not in text:
        return f"{file} holds no {'certificate' if holds == _CERTIFICATE else 'private key'} in PEM form"
    return ""


def _load_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    def refuse() -> NoReturn:
        raise FindingsError([(("key_file",), f"{key} asks for a passphrase; store the key without one, readable only "
                              "by this process's user")])  # fmt: skip

    try:
        context.load_cert_chain(certificate, key, password=refuse)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            sentence = f"{key} is not the key of {certificate}; name the pair that belongs together"
            raise FindingsError([(("key_file",), sentence)]) from None
        sentence = f"{certificate} and {key} cannot be used: {_reason(error)}; write both anew, in PEM form"
        raise FindingsError([(("cert_file",), sentence)]) from None
    except OSError as error:
        raise FindingsError([(("cert_file",), f"{certificate} cannot be read: {error.strerror}")]) from None


def _load_client_authority(context: ssl.SSLContext, file: Path) -> None:
    try:
        context.load_verify_locations(file)
    except OSError as error:
        sentence = f"{file} cannot be used: {_reason(error)}; write the authority's certificate in PEM form"
        raise FindingsError([(("client_ca_file",), sentence)]) from None


def _reason(error: OSError) -> str:
    named = getattr(error, "reason", None) or error.strerror or type(error).__name__
    return str(named).replace("_", " ").lower()
