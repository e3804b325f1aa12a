"""The rows as a table of rich, narrow enough for 80 columns."""

from collections.abc import Callable

from rich import box
from rich.table import Table
from rich.text import Text

from inferwatch.printable import printable
from stack.gpu_table.rows import GpuRow
from stack.gpu_table.words import in_words
from stack.page.figures import UNKNOWN, percent, plural, seconds

GIB = 2**30
NUMBERS = ("busy", "memory", "heat", "power", "SM clock")


def table(rows: list[GpuRow], driver: str, live: bool) -> Table:
    """Return the table; `live` adds for how long each GPU was slowed since the command was started."""
    names = {row.name for row in rows if row.name}
    simulated = any(row.simulated for row in rows)
    one_name = printable(names.pop()) if len(names) == 1 else ""
    what = f": {one_name}" if one_name else ""
    title = f"{plural(len(rows), 'simulated GPU' if simulated else 'GPU')}{what}, driver {printable(driver)}"
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    if simulated:
        made.caption, made.caption_justify, made.caption_style = (
            "Simulated: these numbers are made up.",
            "left",
            "yellow",
        )
    made.add_column("GPU", no_wrap=True)
    if not one_name:
        made.add_column("name", overflow="fold")
    for name in (*NUMBERS, "slowed") if live else NUMBERS:
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("clocks held down by", overflow="fold")
    for row in rows:
        made.add_row(Text(row.gpu), *([] if one_name else [Text(printable(row.name))]), *_cells(row, live))
    return made


def _cells(row: GpuRow, live: bool) -> list[Text]:
    if not row.up:
        blank = [Text(UNKNOWN)] * (len(NUMBERS) + live)
        return [*blank, Text(f"{row.uuid or 'uuid not known'}: {row.trouble}", "bold red")]
    slowed = Text(_figure(row.harmful_seconds, _short), "red" if row.harmful_seconds else "")
    return [
        Text(_figure(row.utilization_ratio, percent)),
        Text(_pair(row.memory_used_bytes, row.memory_total_bytes, lambda value: f"{value / GIB:.1f}", "GiB")),
        Text(_figure(row.temperature_celsius, lambda value: f"{value:.0f} °C")),
        Text(_pair(row.power_usage_watts, row.power_limit_watts, lambda value: f"{value:.0f}", "W")),
        Text(_figure(row.clock_sm_hertz, lambda value: f"{value / 1e6:.0f} MHz")),
        *([slowed] if live else []),
        Text(in_words(row.throttle_reasons), "bold red" if row.harmed else ""),
    ]


def _short(value: float) -> str:
    return "0 s" if value == 0 else seconds(value)


def _figure(value: float | None, show: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else show(value)


def _pair(value: float | None, limit: float | None, show: Callable[[float], str], unit: str) -> str:
    """``52.0/80.0 GiB``, or without the limit where there is none."""
    if value is None:
        return UNKNOWN
    return f"{show(value)}/{show(limit)} {unit}" if limit is not None else f"{show(value)} {unit}"
