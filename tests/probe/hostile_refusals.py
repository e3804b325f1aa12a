"""Behaviours of servers that refuse a parameter, each in its own words, and answer without it."""

import json
from collections.abc import Callable

from hostile_peer import BEHAVIOURS, Peer, behaviour


@behaviour
def picky(peer: Peer) -> None:
    """Refuses each parameter in its own way, one at a time, and then answers."""
    refusals: dict[str, tuple[str, object]] = {
        "stream_options": ("422 Unprocessable", {"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]}),
        "max_tokens": (
            "400 Bad Request",
            {"error": {"message": "'max_tokens' is not supported. Use 'max_completion_tokens' instead."}},
        ),
        "temperature": ("400 Bad Request", {"error": {"message": "unsupported value", "param": "temperature"}}),
    }
    for name, (status, answer) in refusals.items():
        if name in peer.body:
            peer.plain(status, "application/json", json.dumps(answer))
            return
    BEHAVIOURS["no_usage"](peer)


def _refusing(name: str, refused: tuple[str, ...], say: Callable[[list[str]], object]) -> None:
    """Refuse these parameters in the words of one server, and answer without them."""

    def refuse(peer: Peer) -> None:
        if there := [parameter for parameter in refused if parameter in peer.body]:
            peer.plain("400 Bad Request", "application/json", json.dumps(say(there)))
        else:
            BEHAVIOURS["no_usage"](peer)

    refuse.__name__ = f"picky_{name}"
    behaviour(refuse)


def _forbidden(names: list[str]) -> list[object]:
    places = {"stream_options": ["stream_options", "include_usage"]}
    return [{"type": "extra_forbidden", "loc": ["body", *places.get(name, [name])], "msg": "Extra"} for name in names]


USAGE_ALONE, BOTH = ("stream_options",), ("stream_options", "temperature")
_refusing("fastapi", BOTH, lambda names: {"detail": _forbidden(names)})
_refusing("mistral", BOTH, lambda names: {"object": "error", "message": {"detail": _forbidden(names)}, "param": None})
_refusing("nested", USAGE_ALONE, lambda _: {"error": {"param": "stream_options.include_usage", "message": "unknown"}})
_refusing("empty_param", USAGE_ALONE, lambda _: {"error": {"param": "", "message": "stream_options: no such field"}})
_refusing("one_api", USAGE_ALONE, lambda _: {"error": {"param": "400", "message": "no stream_options here"}})
