"""Rules that every query of a dashboard keeps: each names a defect that public LLM dashboards ship with."""

import re
from collections.abc import Iterator

from dashboards.boundary_panels import Json
from dashboards.known import SCRAPE_LABELS, declared
from dashboards.series import grouping_labels, selectors

_COUNTER = re.compile(r"[^:]+_(total|sum|count|bucket)")
_QUANTILE = re.compile(r".*:p\d+(_\w+)?$")
_SCALING = re.compile(r"[*/]\s*(100|1000|1024|60|3600|8|1e-?[369])\b(?!\w)")
_GROWTH = {"rate", "irate", "increase", "resets", "changes"}


def counters_grow(target: Json) -> Iterator[str]:
    """Find counters that are read as if their value meant something; only their growth does."""
    for use in selectors(target["expr"]):
        if _COUNTER.fullmatch(use.name) and not (use.within and use.within[-1] in _GROWTH):
            yield f"the counter {use.name} stands outside rate() and increase()"


def sums_are_divided(target: Json) -> Iterator[str]:
    """Find sums of durations that are sold as a duration; only sum / count is one."""
    names = {use.name for use in selectors(target["expr"])}
    for name in names:
        if re.fullmatch(r"[^:]+_sum", name) and name.removesuffix("_sum") + "_count" not in names:
            yield f"{name} is not divided by its _count"


def no_average_of_quantiles(target: Json) -> Iterator[str]:
    """Find means and sums of quantiles, which are no quantile of anything."""
    for use in selectors(target["expr"]):
        if _QUANTILE.fullmatch(use.name) and {"avg", "avg_over_time", "sum"} & set(use.within):
            yield f"{use.name} is a quantile and is averaged or summed"


def no_sum_of_ratios(target: Json) -> Iterator[str]:
    """Find ratios that are summed over replicas or GPUs, so that they exceed 100 %."""
    for use in selectors(target["expr"]):
        if re.search(r"_ratio\b|_ratio:", use.name) and "sum" in use.within:
            yield f"{use.name} is a ratio and is summed"


def quantiles_keep_le(target: Json) -> Iterator[str]:
    """Find histogram_quantile over buckets that were not summed by le."""
    if "histogram_quantile" in target["expr"] and "le" not in grouping_labels(target["expr"]):
        yield "histogram_quantile() needs sum by (le, ...) inside"


def no_hand_scaling(target: Json) -> Iterator[str]:
    """Find values that are scaled by hand; the panel's unit does that, and says so."""
    if found := _SCALING.search(target["expr"]):
        yield f"it scales by hand ({found.group().strip()}); set the unit instead"


def windows_follow_the_page(target: Json) -> Iterator[str]:
    """Find windows that ignore the time range shown and the scrape interval."""
    for use in selectors(target["expr"]):
        if use.window == "$__interval" and not target.get("interval"):
            yield f"{use.name}[$__interval] needs a smallest step, or its window may hold fewer than two scrapes"
        elif use.window and use.window not in ("$__interval", "$__rate_interval", "$__range"):
            yield f"{use.name}[{use.window}] is a fixed window; write $__rate_interval"
        elif use.window == "$__range" and not target["instant"]:
            yield f"{use.name}[$__range] belongs into an instant query"


def recorded_series_are_not_rated(target: Json) -> Iterator[str]:
    """Find recorded rates that are rated again."""
    for use in selectors(target["expr"]):
        if ":" in use.name and use.window:
            yield f"{use.name} is recorded and has its window already"


def labels_exist(target: Json) -> Iterator[str]:
    """Find matchers on labels that the exporter's metric does not have, which match nothing."""
    metrics = declared()
    for use in selectors(target["expr"]):
        if metric := metrics.get(use.name):
            for label in set(use.labels) - set(metric.labels) - SCRAPE_LABELS - {"le"}:
                yield f"{use.name} has no label {label}"


def follows_a_variable(target: Json) -> Iterator[str]:
    """Find queries that show everything, whatever the reader chose."""
    if "$target" not in target["expr"] and "$node" not in target["expr"]:
        yield "it uses neither $target nor $node"


def instant_or_range(target: Json) -> Iterator[str]:
    """Find queries that ask for both, or for neither."""
    if target["instant"] == target["range"]:
        yield "exactly one of instant and range must be true"


QUERY_RULES = (
    counters_grow,
    sums_are_divided,
    no_average_of_quantiles,
    no_sum_of_ratios,
    quantiles_keep_le,
    no_hand_scaling,
    windows_follow_the_page,
    recorded_series_are_not_rated,
    labels_exist,
    follows_a_variable,
    instant_or_range,
)
