"""Which model answers, and on which server: what they call themselves, and how often that changed."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

FIELDS = ("model", "system_fingerprint", "server_version")


@dataclass
class Identity:
    """What a target's last answer and its server named, "" where they named nothing, and how often each changed."""

    names: dict[str, str] = field(default_factory=lambda: dict.fromkeys(FIELDS, ""))
    changes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIELDS, 0))

    def take(self, named: Mapping[str, str | None]) -> list[str]:
        """Take over what was named by field; return the fields that had another name before."""
        changed = []
        for name, value in named.items():
            if value is None or value == self.names[name]:
                continue
            if self.names[name]:
                self.changes[name] += 1
                changed.append(name)
            self.names[name] = value
        return changed


class Identities:
    """Keeps the identity of each target by its name and the model that is asked for, which is one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._identities: dict[tuple[str, str], Identity] = {}

    def saw(self, target: str, model_name: str, model: str | None, fingerprint: str | None) -> list[str]:
        """Take over what an answer named, if anything; return the fields that changed.

        Without a model nothing was asked, e.g. because the server did not list its models, and so nothing changed.
        """
        if not model_name:
            return []
        with self._lock:
            before = [key for key in self._identities if key[0] == target and key[1] != model_name]
            # The server of another model is the same; it is asked for its version only now and then.
            versions = [self._identities.pop(key).names["server_version"] for key in before]
            identity = self._identities.setdefault((target, model_name), Identity())
            if versions:
                identity.names["server_version"] = versions[-1]
            return identity.take({"model": model, "system_fingerprint": fingerprint})

    def saw_version(self, target: str, version: str) -> list[str]:
        """Take over the version of a target's server; return the fields that changed."""
        with self._lock:
            of_target = [identity for (name, _), identity in self._identities.items() if name == target]
            return [field for identity in of_target for field in identity.take({"server_version": version})][:1]

    def forget_all_but(self, targets: Collection[str]) -> None:
        """Drop the targets that are configured no more, or at another address."""
        with self._lock:
            self._identities = {key: found for key, found in self._identities.items() if key[0] in targets}

    def all(self) -> Mapping[tuple[str, str], Identity]:
        """Return a copy by target and model that was asked for."""
        with self._lock:
            return {key: Identity(dict(one.names), dict(one.changes)) for key, one in self._identities.items()}
