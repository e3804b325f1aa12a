"""Calls of tools: the pieces in which an answer sends them, and the calls that these make together."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exporters.probe.protocols.base import CallPiece


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the tool's name and its arguments, which should be the text of a JSON object."""

    name: str
    arguments: str


def calls_of(pieces: Iterable[CallPiece]) -> list[Call]:
    """Return the calls in the order in which they began; a piece without a place is one, or goes on with the last."""
    names: dict[object, str] = {}
    arguments: dict[object, list[str]] = {}
    place: object = None
    for piece in pieces:
        if piece.place is not None:
            place = piece.place
        elif piece.name or place is None:
            place = object()
        # Some servers repeat the name with every piece.
        names[place] = names.get(place) or piece.name
        arguments.setdefault(place, []).append(piece.arguments)
    return [Call(name, "".join(arguments[place])) for place, name in names.items()]


def function_pieces(calls: object) -> tuple[CallPiece, ...]:
    """Return the pieces in a list of OpenAI's or Ollama's `tool_calls`; what is no call is left out."""
    pieces = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            # Before servers sent an index, an id told a streamed call from the next; a whole one has either or none.
            place = call.get("index", call.get("id"))
            pieces.append(call_piece(place, function.get("name"), function.get("arguments")))
    return tuple(pieces)


def call_piece(place: object, name: object, arguments: object) -> CallPiece:
    """Return a piece; arguments that are data already, as Ollama's and Anthropic's whole ones, become JSON again."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments) if isinstance(arguments, Mapping) else ""
    return CallPiece(place if isinstance(place, int | str) else None, name if isinstance(name, str) else "", text)
