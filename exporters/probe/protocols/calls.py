"""Calls of tools: the pieces in which an answer sends them, and the calls that these make together."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporters.probe.protocols.base import CallPiece


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the tool's name and its arguments, which should be the text of a JSON object."""

    name: str
    arguments: str


def calls_of(pieces: Iterable[CallPiece]) -> list[Call]:
    """Return the calls in the order in which they began; a piece without a place is one, or goes on with the last."""
    begun: list[_Begun] = []
    at: dict[int | str, _Begun] = {}
    call: _Begun | None = None
    for piece in pieces:
        if piece.place is not None:
            call = at.get(piece.place)
        elif piece.name:
            call = None
        if call is None or call.is_before(piece):
            call = _Begun(piece.id)
            begun.append(call)
        if piece.place is not None:
            at[piece.place] = call
        # Some servers repeat the name with every piece.
        call.name = call.name or piece.name
        call.arguments.append(piece.arguments)
    return [Call(call.name, "".join(call.arguments)) for call in begun]


@dataclass(slots=True)
class _Begun:
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def is_before(self, piece: CallPiece) -> bool:
        """Say whether the piece begins another call. One with a new id and no name does not: some make up ids."""
        return bool(self.id and piece.id and piece.id != self.id and piece.name)


def function_pieces(calls: object) -> tuple[CallPiece, ...]:
    """Return the pieces in a list of OpenAI's or Ollama's `tool_calls`; what is no call is left out."""
    pieces = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            # Before servers sent an index, an id told a streamed call from the next; a whole one has either or none.
            place = call.get("index", call.get("id"))
            piece = call_piece(place, function.get("name"), function.get("arguments"))
            named = call.get("id")
            pieces.append(piece._replace(id=named) if isinstance(named, str) else piece)
    return tuple(pieces)


def call_piece(place: object, name: object, arguments: object) -> CallPiece:
    """Return a piece; arguments that are data already, as Ollama's and Anthropic's whole ones, become JSON again."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments) if isinstance(arguments, Mapping) else ""
    return CallPiece(place if isinstance(place, int | str) else None, name if isinstance(name, str) else "", text)
