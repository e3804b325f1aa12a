"""Checks `Authorization: Basic` against bcrypt hashes, so that a right password is cheap and a guess is not."""

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping

import bcrypt

# bcrypt reads no more; Go's implementation, which made the format, ignores the rest in the same way.
LONGEST_PASSWORD = 72
REMEMBERED = 128
# Each guess takes a moment of one CPU, so they are checked one after another; who waits longer is refused.
WAIT_SECONDS = 5.0


class Passwords:
    """The users of one state of the file, and what it remembers of right passwords.

    Args:
        users: The bcrypt hash of each user's password, by name; not empty.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {name: hashed.encode() for name, hashed in users.items()}
        # Compared with where a user is unknown, so that the time of an answer does not tell which users there are.
        self._any_hash = next(iter(self._users.values()))
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._secret = secrets.token_bytes(32)
        self._remembering = threading.Lock()
        self._checking = threading.Lock()

    def accept(self, authorization: str | None) -> bool:
        """Return whether the value of the header Authorization names a user and that user's password."""
        given = _credentials(authorization)
        if given is None:
            return False
        user, password = given
        # A password is remembered only as a keyed digest that means nothing outside this process.
        digest = hmac.digest(self._secret, hashlib.sha256(user).digest() + hashlib.sha256(password).digest(), "sha256")
        if self._remembers(digest):
            return True
        if not self._checking.acquire(timeout=WAIT_SECONDS):
            return False
        try:
            right = self._matches(user, password)
        finally:
            self._checking.release()
        if right:
            self._remember(digest)
        return right

    def _matches(self, user: bytes, password: bytes) -> bool:
        hashed = self._users.get(user.decode("utf-8", "replace"))
        try:
            same = bcrypt.checkpw(password[:LONGEST_PASSWORD], hashed or self._any_hash)
        except ValueError:  # a password with a NUL
            return False
        return same and hashed is not None

    def _remembers(self, digest: bytes) -> bool:
        with self._remembering:
            known = digest in self._right
            if known:
                self._right.move_to_end(digest)
            return known

    def _remember(self, digest: bytes) -> None:
        with self._remembering:
            self._right[digest] = None
            while len(self._right) > REMEMBERED:
                self._right.popitem(last=False)


def _credentials(authorization: str | None) -> tuple[bytes, bytes] | None:
    """Return user and password of a header's value (RFC 7617), or None where it holds none."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if colon else None
