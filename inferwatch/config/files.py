"""Texts that the configuration takes from other files: prompts and schemas."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

LARGEST_TEXT_BYTES = 4 << 20
Signature = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file holds, without its last line end; `path` is as the configuration writes it."""

    path: str
    text: str


class Files:
    """Reads the files that a configuration names; handed to a model as the context of its validation.

    Args:
        folder: Where relative paths start: the folder of the configuration.
        kept: What they held earlier, by path; used instead of the files themselves.

    Attributes:
        texts: What was read, by path.
    """

    def __init__(self, folder: Path = Path(), kept: Mapping[str, str] | None = None) -> None:
        self.texts: dict[str, str] = {}
        self._folder = folder
        self._kept = kept
        self._read: dict[Path, Signature] = {}

    def read(self, path: str) -> FileText:
        """Return what a file holds; raises ValueError with a sentence for the person who named it."""
        if self._kept is not None:
            if path not in self._kept:
                raise ValueError(f"what {path} held is not kept")
            return FileText(path, self._kept[path])
        file = self._folder / path
        self._read[file] = signature(file)
        text = _text(file)
        self.texts[path] = text
        return FileText(path, text)

    @property
    def as_read(self) -> tuple[Signature, ...]:
        """The signatures of the files when they were read."""
        return tuple(self._read.values())

    @property
    def as_now(self) -> tuple[Signature, ...]:
        """Their signatures now; a file that was absent and is there now has another one too."""
        return tuple(signature(file) for file in self._read)


def signature(file: Path) -> Signature:
    """Return what changes with a file's content; None where there is none.

    `stat` follows links, so the swap of a mounted Kubernetes ConfigMap is seen as another inode.
    """
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_TEXT_BYTES + 1)
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}; a relative path starts in the folder of this file") from None
    except IsADirectoryError:
        raise ValueError(f"{file} is a folder; name a file in it") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}; let this process's user read it") from None
    if len(content) > LARGEST_TEXT_BYTES:
        raise ValueError(f"{file} is larger than {LARGEST_TEXT_BYTES >> 20} MiB; name the right one")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8; save it as UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text.strip():
        raise ValueError(f"{file} is empty")
    return text


def read_file(value: object, info: ValidationInfo) -> FileText:
    """Return the text of a file that a value names, read by the context of the validation; raises ValueError."""
    if not isinstance(value, str) or not value:
        raise ValueError("write the path of a file")
    files = info.context if isinstance(info.context, Files) else Files()
    return files.read(value)


TextFile = Annotated[FileText, BeforeValidator(read_file), WithJsonSchema({"type": "string"})]
