"""YAML with the line of every key, so that an error can name it."""

import yaml

Path = tuple[str | int, ...]


def load_with_lines(text: str) -> tuple[object, dict[Path, int]]:
    """Parse YAML into plain data and a map from each path to its line (from 1).

    Raises:
        yaml.YAMLError: If the text is not YAML, or if a key is given twice.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    lines: dict[Path, int] = {(): 1}
    if node is None:
        return None, lines
    _walk(node, (), lines)
    return yaml.safe_load(text), lines


def _walk(node: yaml.Node, path: Path, lines: dict[Path, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            child = (*path, str(key.value))
            if child in lines and key.value != "<<":
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark)
            lines[child] = key.start_mark.line + 1
            _walk(value, child, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _walk(value, (*path, index), lines)


def nearest_line(path: Path, lines: dict[Path, int]) -> int:
    """Return the line of the path or, if it is not in the file, of its nearest parent."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def path_text(path: Path) -> str:
    """Return a path as a person writes it: ``targets[2].slo.ttft``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
