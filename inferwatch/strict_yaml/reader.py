"""YAML as plain data with the line of every value, so that an error can name it.

Scalars follow the core schema of YAML 1.2 (section 10.3.2): `on`, `yes`, dates and `1:30` are texts, not booleans,
dates and numbers. Anchors, aliases and merge keys work; what they expand to is limited.
"""

import re
from dataclasses import dataclass

import yaml

from inferwatch.strict_yaml.findings import Path

LARGEST_FILE_BYTES = 1 << 19
MOST_VALUES = 50_000
DEEPEST = 20

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"


class NoValue:
    """What a key without a value holds; None would pass for an optional key that is not there."""


NO_VALUE = NoValue()


class UnusableYamlError(Exception):
    """The text cannot be used as YAML.

    Attributes:
        line: Where, from 1.
        sentence: What is wrong there and what to write.
    """

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(f"line {line}: {sentence}")
        self.line = line
        self.sentence = sentence


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own attribute, emptied of YAML 1.1


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]{1,18}", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), _first)


def read_yaml(text: str) -> tuple[object, dict[Path, int]]:
    """Return the data of one YAML document and the line (from 1) of each path in it; an empty text is None.

    A key without a value holds NO_VALUE.

    Raises:
        UnusableYamlError: If the text is not YAML, gives a key twice, or expands to too much.
    """
    if len(text) > LARGEST_FILE_BYTES:
        raise UnusableYamlError(
            1, f"the file is larger than {LARGEST_FILE_BYTES} bytes; this cannot be a configuration"
        )
    try:
        node = _Loader(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnusableYamlError(
            line, f"the character U+{ord(text[error.position]):04X} is not allowed in YAML; remove it"
        ) from None
    except yaml.MarkedYAMLError as error:
        raise UnusableYamlError(_line(error.problem_mark or error.context_mark), _sentence(error)) from None
    except RecursionError:
        raise UnusableYamlError(1, "the file is nested too deeply") from None
    except (ValueError, OverflowError) as error:  # such as the escape "\UFFFFFFFF"
        raise UnusableYamlError(1, f"this is not YAML: {error}") from None
    lines: dict[Path, int] = {(): 1}
    if node is None:
        return None, lines
    return _Walk(lines).value(node, ()), lines


def _line(mark: yaml.Mark | None) -> int:
    return mark.line + 1 if mark else 1


def _sentence(error: yaml.MarkedYAMLError) -> str:
    if error.problem and r"'\t'" in error.problem:
        return "a tab cannot indent YAML; use spaces"
    said = ", ".join(part for part in (error.context, error.problem) if part)
    begins = error.context_mark
    if begins and error.problem_mark and begins.line != error.problem_mark.line:
        said += f"; it begins in line {begins.line + 1}"
    return f"this is not YAML: {said}"


@dataclass
class _Walk:
    """Turns nodes into data, noting lines and counting what was made."""

    lines: dict[Path, int]
    made: int = 0

    def value(self, node: yaml.Node, path: Path) -> object:
        self._count(node, len(path))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self._child(item, (*path, index), item) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            pairs = self._pairs(node, len(path))
            return {name: self._child(key, (*path, name), value) for name, (key, value) in pairs.items()}
        raise _unknown_tag(node)

    def _child(self, place: yaml.Node, path: Path, node: yaml.Node) -> object:
        self.lines[path] = _line(place.start_mark)
        return self.value(node, path)

    def _pairs(self, node: yaml.MappingNode, depth: int) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the key and value nodes of a map by key, merged ones first; the map's own keys win."""
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            self._count(key, depth)
            if not isinstance(key, yaml.ScalarNode):
                raise UnusableYamlError(_line(key.start_mark), "a key must be one word, not a list or a map")
            if key.tag == _MERGE:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if not isinstance(source, yaml.MappingNode):
                        raise UnusableYamlError(
                            _line(key.start_mark), "<< merges maps; write <<: *name of an anchored map"
                        )
                    merged = self._pairs(source, depth + 1) | merged
            elif key.value in own:
                raise UnusableYamlError(_line(key.start_mark), f"the key {key.value[:60]!r} is given twice")
            else:
                own[key.value] = (key, value)
        return merged | own

    def _count(self, node: yaml.Node, depth: int) -> None:
        self.made += 1
        if self.made > MOST_VALUES:
            raise UnusableYamlError(_line(node.start_mark), f"the file expands to more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise UnusableYamlError(_line(node.start_mark), f"the file is nested more than {DEEPEST} levels deep")


def _scalar(node: yaml.ScalarNode) -> object:
    kind, text = node.tag.removeprefix(_TAG), node.value
    try:
        if kind in ("str", "merge"):
            text.encode()  # a lone surrogate from an escape such as "\ud800" could not be exposed as a label
            return text
        if kind == "null":
            return NO_VALUE
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(re.sub(r"\.(inf|nan)$", r"\1", text.lower()))
    except UnicodeEncodeError:
        raise UnusableYamlError(_line(node.start_mark), "a text holds half of a surrogate pair; remove it") from None
    except (ValueError, KeyError):
        pass
    raise _unknown_tag(node)


def _unknown_tag(node: yaml.Node) -> UnusableYamlError:
    tag = node.tag.replace(_TAG, "!!")
    return UnusableYamlError(_line(node.start_mark), f"the tag {tag[:60]!r} does not fit here; remove it")


def nearest_line(path: Path, lines: dict[Path, int]) -> int:
    """Return the line of the path or, if it is not in the file, of its nearest parent."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def path_text(path: Path) -> str:
    """Return a path as a person writes it: ``targets[2].slo.ttft``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            # A key may hold anything, also what would break the line.
            shown = part if part.isprintable() and part.strip() == part and 0 < len(part) <= 60 else repr(part[:60])
            text += f".{shown}" if text else shown
    return text
