"""What is said of a fault of our own: its kind and its place."""

import traceback
from pathlib import Path

from exporters.probe.failures import ProbeError

_OURS = Path(__file__).resolve().parents[2]


def fault(error: BaseException) -> ProbeError:
    """Return the failure that an exception of ours is; its text is left out, for it may quote an answer."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _OURS in Path(frame.filename).parents] or frames
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return ProbeError("internal", f"inferwatch failed ({type(error).__name__}{place}); please report it")
