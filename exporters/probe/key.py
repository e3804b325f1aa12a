"""What a probe is known by: the names of its target and its scenario, and which server its target is."""

from inferwatch.config import Target

Key = tuple[str, str]
# Name, URL and API of a target: what was found out of one server says nothing about another of that name.
Server = tuple[str, str, str]


def server_of(target: Target) -> Server:
    """Return which server a target is."""
    return target.name, target.url, target.api
