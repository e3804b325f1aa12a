"""What a web configuration may hold, what its errors say, and whom it lets in."""

import threading
from pathlib import Path

import bcrypt
import pytest
from certificates import Authority
from web_config_files import PASSWORD, TLS, USER, basic, hashed

from inferwatch.errors import ConfigError
from inferwatch.web_config.access import Access
from inferwatch.web_config.model import CIPHERS
from inferwatch.web_config.opening import open_access
from inferwatch.web_config.passwords import Passwords

HASH = hashed()


def opened(folder: Path, text: str) -> Access:
    file = folder / "web.yml"
    file.write_text(text)
    return open_access(file)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        opened(folder, text)
    return caught.value.problems


BAD = {
    "empty": ("", "web.yml:1: the file is empty; for plain HTTP leave --web.config.file out"),
    "unknown-key": ("basic_auth_user: {}\n", "web.yml:1: basic_auth_user: unknown key; did you mean basic_auth_users?"),
    "no-key-file": (
        "tls_server_config:\n  cert_file: server.pem\n",
        "web.yml:1: tls_server_config.key_file: this key is required",
    ),
    "inline-key": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  key: sk-secret\n",
        "web.yml:4: tls_server_config.key: not supported here: keep it in a file, "
        "and name that with cert_file, key_file or client_ca_file",
    ),
    "curves": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  curve_preferences: [X25519]\n",
        "web.yml:4: tls_server_config.curve_preferences: not supported here: remove it, and OpenSSL's own order holds",
    ),
    "rate-limit": (
        f"basic_auth_users: {{a: {HASH}}}\nrate_limit: {{interval: 1s}}\n",
        "web.yml:2: rate_limit: not supported here: limit requests in a proxy before this server, or remove it",
    ),
    "client-auth-that-verifies-nothing": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequireAnyClientCert\n",
        "web.yml:4: tls_server_config.client_auth_type: write NoClientCert or VerifyClientCertIfGiven or "
        "RequireAndVerifyClientCert, not 'RequireAnyClientCert'",
    ),
    "client-auth-without-authority": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequireAndVerifyClientCert\n",
        "web.yml:4: tls_server_config.client_auth_type: RequireAndVerifyClientCert needs client_ca_file, "
        "the authority that client certificates come from",
    ),
    "authority-without-client-auth": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: ca\n",
        "web.yml:4: tls_server_config.client_ca_file: has no effect without "
        "client_auth_type: RequireAndVerifyClientCert",
    ),
    "names-without-client-auth": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_allowed_sans: [x]\n",
        "web.yml:4: tls_server_config.client_allowed_sans: needs client_auth_type: RequireAndVerifyClientCert, "
        "else a client could show no certificate",
    ),
    "old-tls": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS10\n",
        "web.yml:4: tls_server_config.min_version: write TLS12 or TLS13, not 'TLS10'",
    ),
    "versions-upside-down": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS13\n  max_version: TLS12\n",
        "web.yml:4: tls_server_config.min_version: is above max_version, TLS12",
    ),
    "cipher": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites: [ROT13]\n",
        "web.yml:4: tls_server_config.cipher_suites[0]: 'ROT13' is not a cipher suite; write one of "
        + ", ".join(CIPHERS),
    ),
    "ciphers-of-tls13-alone": (
        "tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n",
        "web.yml:4: tls_server_config.cipher_suites: names no suite of TLS 1.2; add one, such as "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, or write min_version: TLS13",
    ),
    "header": (
        "http_server_config:\n  headers:\n    Server: mine\n",
        "web.yml:3: http_server_config.headers.Server: this header cannot be set; known here: "
        "Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options, X-XSS-Protection",
    ),
    "header-value": (
        "http_server_config:\n  headers:\n    X-Frame-Options: allow\n",
        "web.yml:3: http_server_config.headers.X-Frame-Options: write deny or sameorigin",
    ),
    "header-of-two-lines": (
        'http_server_config:\n  headers:\n    Content-Security-Policy: "a\\r\\nSet-Cookie: b"\n',
        "web.yml:3: http_server_config.headers.Content-Security-Policy: write plain printable characters on one line",
    ),
    "password-itself": (
        "basic_auth_users:\n  prometheus: sk-secret\n",
        "web.yml:2: basic_auth_users.prometheus: this is no bcrypt hash; make one with: htpasswd -nBC 10 NAME, "
        "and never write the password",
    ),
    "password-of-digits": (
        "basic_auth_users:\n  prometheus: 31415926\n",
        "web.yml:2: basic_auth_users.prometheus: write a text",
    ),
    "password-without-a-space": (
        "basic_auth_users: prometheus:sk-secret\n",
        "web.yml:1: basic_auth_users: write keys below it, each with a value",
    ),
    "costly-hash": (
        f"basic_auth_users:\n  prometheus: {HASH.replace('$04$', '$18$')}\n",
        "web.yml:2: basic_auth_users.prometheus: the cost of this hash is 18; make one with a cost from 4 to 14",
    ),
    "user-with-a-colon": (
        f"basic_auth_users:\n  'a:b': {HASH}\n",
        "web.yml:2: basic_auth_users.a:b: a user's name cannot hold a colon or a control character; choose another",
    ),
}


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD)
def test_a_bad_file_is_explained(tmp_path, text, problem):
    found = problems(tmp_path, text)
    assert found == [problem]
    assert "sk-secret" not in str(found)
    assert "31415926" not in str(found)


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yml: there is no such file; write one as docs/web-config\.md says"):
        open_access(tmp_path / "none.yml")


def test_passwords_alone(tmp_path):
    access = opened(tmp_path, f"basic_auth_users: {{{USER}: {HASH}}}\n")
    assert access.tls is None
    assert access.summary == "plain HTTP, 1 user with a password"


def test_a_header_that_is_blank_is_unset(tmp_path):
    access = opened(
        tmp_path, 'http_server_config: {http2: false, headers: {X-Frame-Options: deny, X-XSS-Protection: ""}}'
    )
    assert access.headers == (("X-Frame-Options", "deny"),)


# Certificates

needs_openssl = pytest.mark.tool("openssl")


@pytest.fixture(scope="module")
def authority(tool, tmp_path_factory) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("certificates"))
    made.sign("server")
    made.sign("other")
    made.encrypt("server")
    (made.folder / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    return made


BAD_CERTIFICATES = {
    "missing": ("cert_file: none.pem, key_file: server.key", "cert_file: there is no file {}/none.pem; paths are"),
    "a-folder": ("cert_file: ., key_file: server.key", "cert_file: {} cannot be read: Is a directory; let"),
    "key-as-certificate": (
        "cert_file: server.key, key_file: server.key",
        "cert_file: {}/server.key holds no certificate in PEM form",
    ),
    "certificate-as-key": (
        "cert_file: server.pem, key_file: server.pem",
        "key_file: {}/server.pem holds no private key in PEM form",
    ),
    "another-key": (
        "cert_file: server.pem, key_file: other.key",
        "key_file: {0}/other.key is not the key of {0}/server.pem; name the pair that belongs together",
    ),
    "passphrase": (
        "cert_file: server.pem, key_file: server.encrypted",
        "key_file: {}/server.encrypted asks for a passphrase; store the key without one",
    ),
    "broken": ("cert_file: broken.pem, key_file: server.key", "cert_file: {0}/broken.pem and {0}/server.key cannot be"),
    "broken-authority": (
        "cert_file: server.pem, key_file: server.key, client_ca_file: broken.pem, "
        "client_auth_type: RequireAndVerifyClientCert",
        "client_ca_file: {}/broken.pem cannot be used: ",
    ),
}


@needs_openssl
@pytest.mark.parametrize(("keys", "problem"), BAD_CERTIFICATES.values(), ids=BAD_CERTIFICATES)
def test_a_bad_certificate_is_explained(authority, keys, problem):
    (found,) = problems(authority.folder, f"# first line\ntls_server_config: {{{keys}}}\n")
    assert found.startswith(f"web.yml:2: tls_server_config.{problem.format(authority.folder)}")


@needs_openssl
def test_every_cipher_suite_is_known_to_openssl(authority):
    for name, openssl_name in CIPHERS.items():
        access = opened(authority.folder, f"{TLS}, cipher_suites: [{name}], max_version: TLS12}}")
        chosen = {cipher["name"] for cipher in access.tls.get_ciphers() if cipher["protocol"] != "TLSv1.3"}
        assert chosen == {openssl_name}


# Passwords


@pytest.fixture(scope="module")
def passwords() -> Passwords:
    return Passwords({USER: HASH, "grüße": hashed("übel: mit Doppelpunkt"), "long": hashed("x" * 72)})


@pytest.mark.parametrize(
    ("user", "password"),
    [(USER, PASSWORD), ("grüße", "übel: mit Doppelpunkt"), ("long", "x" * 72), ("long", "x" * 100)],
)
def test_the_right_password(passwords, user, password):
    assert passwords.accept(basic(user, password))
    assert passwords.accept(basic(user, password).replace("Basic", "bAsIc"))


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic ü",
        "Bearer " + basic()[6:],
        basic() + "," + basic(),
        basic(password=""),
        basic(password=PASSWORD + "x"),
        basic(password=PASSWORD + "\0"),
        basic(password=HASH),
        basic("nobody"),
        basic(""),
        basic("long", "x" * 71),
        "Basic bm8tY29sb24=",
        "Basic /////w==",
    ],
)
def test_anything_else_is_refused(passwords, authorization):
    assert not passwords.accept(authorization)


@pytest.mark.parametrize("version", ["2a", "2b", "2x", "2y"])
def test_hashes_of_every_tool(version, tmp_path):
    access = opened(tmp_path, f"basic_auth_users: {{{USER}: '{HASH.replace('$2b$', f'${version}$')}'}}")
    assert access.passwords.accept(basic())


@pytest.fixture
def checked(monkeypatch) -> list[bytes]:
    """Return the passwords that were compared with a hash."""
    seen = []
    compare = bcrypt.checkpw

    def checkpw(password: bytes, hashed_password: bytes) -> bool:
        seen.append(password)
        return compare(password, hashed_password)

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    return seen


def test_a_right_password_is_hashed_once_and_a_wrong_one_each_time(checked):
    fresh = Passwords({USER: HASH})
    for _ in range(3):
        assert fresh.accept(basic())
    assert len(checked) == 1
    for _ in range(3):
        assert not fresh.accept(basic(password="wrong"))
    assert len(checked) == 4


def test_an_unknown_user_takes_as_long_as_a_known_one(checked):
    assert not Passwords({USER: HASH}).accept(basic("nobody"))
    assert len(checked) == 1


def test_what_is_remembered_is_bounded(monkeypatch, checked):
    monkeypatch.setattr("inferwatch.web_config.passwords.REMEMBERED", 2)
    users = Passwords({str(number): HASH for number in range(3)})
    for number in (0, 1, 2, 2, 1, 0):
        assert users.accept(basic(str(number)))
    assert len(checked) == 4  # the first one was forgotten


def test_the_remembered_do_not_wait_for_guesses(monkeypatch):
    users = Passwords({USER: HASH})
    assert users.accept(basic())
    inside, go_on = threading.Event(), threading.Event()

    def slow(password: bytes, hashed_password: bytes) -> bool:
        inside.set()
        assert go_on.wait(30)
        return False

    monkeypatch.setattr(bcrypt, "checkpw", slow)
    guess = threading.Thread(target=users.accept, args=(basic(password="wrong"),))
    guess.start()
    try:
        assert inside.wait(30)
        assert users.accept(basic())
        monkeypatch.setattr("inferwatch.web_config.passwords.WAIT_SECONDS", 0.01)
        assert not users.accept(basic(password="another guess"))
    finally:
        go_on.set()
        guess.join()
