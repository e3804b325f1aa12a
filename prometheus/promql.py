"""Small parts of PromQL that rules are put together from, so that each idiom is written and explained once."""

from inferwatch.metric import Metric

# A gap in scraping, such as a restart of the probe exporter, must not make objectives and prices disappear.
CONFIGURATION_LASTS = "15m"
RATE_WINDOW = "5m"
RATE_WINDOW_SECONDS = 300


def selector(series: object, **matchers: str) -> str:
    """Return ``series{label="value"}``; a value that begins with ``=~``, ``!=`` or ``!~`` brings its own operator."""
    if not matchers:
        return str(series)
    inside = ", ".join(
        f'{label}{value[:2]}"{value[2:]}"' if value[:2] in ("=~", "!=", "!~") else f'{label}="{value}"'
        for label, value in matchers.items()
    )
    return f"{series}{{{inside}}}"


def aggregate(how: str, labels: tuple[str, ...], expr: str) -> str:
    """Return ``how by (labels) (expr)``; a long expression gets lines of its own."""
    head = f"{how} by ({', '.join(labels)}) "
    if "\n" in expr or len(head) + len(expr) > 118:
        return head + block(expr)
    return f"{head}({expr})"


def rate(series: object, window: str = RATE_WINDOW, **matchers: str) -> str:
    """Return the per-second rate of a counter."""
    return f"rate({selector(series, **matchers)}[{window}])"


def increase(series: object, window: str, **matchers: str) -> str:
    """Return by how much a counter grew, across restarts."""
    return f"increase({selector(series, **matchers)}[{window}])"


def configured(metric: Metric, labels: tuple[str, ...], **matchers: str) -> str:
    """Return a series of the configuration by `labels`.

    It survives a gap in scraping, and is the same whether one prober or two export it.
    """
    lasting = f"last_over_time({selector(metric, **matchers)}[{CONFIGURATION_LASTS}])"
    return aggregate("max", labels, lasting)


def block(expr: str) -> str:
    """Return the expression in parentheses, on lines of its own."""
    return f"(\n{indent(expr)}\n)"


def indent(text: str, by: int = 2) -> str:
    """Return the text with each line moved right."""
    return "\n".join(" " * by + line for line in text.splitlines())
