"""The page's style and script, inline so that the page is one answer, and the policy that allows only these two."""

import base64
import hashlib
from pathlib import Path

_HERE = Path(__file__).resolve().parent
STYLE = (_HERE / "page.css").read_text(encoding="utf-8")
SCRIPT = (_HERE / "page.js").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


SECURITY_HEADERS = (
    (
        "Content-Security-Policy",
        f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
)
