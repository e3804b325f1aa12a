"""Builds HTML in which every text is escaped, since names and alert texts come from outside."""

import html
from urllib.parse import urlsplit


class Markup(str):
    """HTML that needs no escaping any more."""

    __slots__ = ()


Content = str | Markup | None


def tag(name: str, *content: Content, **attributes: str | None) -> Markup:
    """Return an element; texts are escaped, None is left out, and ``class_`` stands for ``class``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*content)}</{name}>")


def join(*content: Content) -> Markup:
    """Return contents one after the other, texts escaped."""
    return Markup("".join(one if isinstance(one, Markup) else html.escape(one) for one in content if one is not None))


def link(url: str | None, text: str) -> Markup:
    """Return a link, or the bare text where the address is none that a browser should open."""
    if url is None or not is_web(url):
        return join(text)
    return tag("a", text, href=url, rel="noreferrer")


def is_web(url: str) -> bool:
    """Whether this is an http or https address, and not script in disguise."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
