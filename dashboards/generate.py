"""Writes every dashboard's JSON again from its code: ``python -m dashboards.generate``."""

import sys
from pathlib import Path

from dashboards.boundary import to_text
from dashboards.overview import overview
from dashboards.probes import probes

GENERATED = Path(__file__).resolve().parent / "generated"


def texts() -> dict[str, str]:
    """Return what each file of the folder `generated` holds, by file name."""
    return {"overview.json": to_text(overview()), "probes.json": to_text(probes())}


def main() -> int:
    """Write the files, remove what no code stands for any more, and return the exit code."""
    GENERATED.mkdir(exist_ok=True)
    wanted = texts()
    for old in GENERATED.glob("*.json"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (GENERATED / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {len(wanted)} dashboards to {GENERATED}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
