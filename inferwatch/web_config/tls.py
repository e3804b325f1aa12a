"""From `tls_server_config` to the context that a handshake is made with."""

import ssl
from pathlib import Path

from inferwatch import pem
from inferwatch.strict_yaml import Finding, FindingsError
from inferwatch.web_config.model import CIPHERS, TlsServerConfig

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_KEYS: dict[pem.Part, str] = {"certificate": "cert_file", "key": "key_file", "authority": "client_ca_file"}


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
    _load(context, config, folder)
    context.verify_mode = _VERIFY[config.client_auth_type]
    return context


def files_of(config: TlsServerConfig, folder: Path) -> list[Path]:
    """Return the files whose change means a new context."""
    names = (config.cert_file, config.key_file, config.client_ca_file)
    return [folder / name for name in names if name is not None]


def _check_files(config: TlsServerConfig, folder: Path) -> None:
    wanted: list[tuple[str, str, pem.Part]] = [
        ("cert_file", config.cert_file, "certificate"),
        ("key_file", config.key_file, "key"),
    ]
    if config.client_ca_file is not None:
        wanted.append(("client_ca_file", config.client_ca_file, "authority"))
    absent = "paths are relative to the folder of this file"
    problems = [(key, pem.problem(folder / name, part, absent)) for key, name, part in wanted]
    found: list[Finding] = [((key,), problem) for key, problem in problems if problem]
    FindingsError.raised(found, config)


def _load(context: ssl.SSLContext, config: TlsServerConfig, folder: Path) -> None:
    try:
        pem.load_pair(context, folder / config.cert_file, folder / config.key_file)
        if config.client_ca_file is not None:
            pem.load_authority(context, folder / config.client_ca_file)
    except pem.PemError as error:
        raise FindingsError([((_KEYS[error.part],), str(error))]) from None
