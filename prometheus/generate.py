"""`python -m prometheus.generate` writes the recording rules to prometheus/rules."""

from pathlib import Path

from prometheus.groups import rule_file
from prometheus.recording import rule_groups

FOLDER = Path(__file__).resolve().parent / "rules"


def rendered() -> dict[Path, str]:
    """Return the text of every generated file."""
    return {FOLDER / f"{name}.yml": rule_file(groups, "prometheus.generate") for name, groups in rule_groups().items()}


def write(files: dict[Path, str]) -> None:
    """Write the files, and remove other rule files from their folders, which nothing makes any more."""
    for folder in {file.parent for file in files}:
        folder.mkdir(parents=True, exist_ok=True)
        for stray in set(folder.glob("*.yml")) - set(files):
            stray.unlink()
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(rendered())
