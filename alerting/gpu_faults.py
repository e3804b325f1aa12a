"""Whether GPUs are missing or report faults. Tickets: if users notice, the target pages."""

from alerting.alert import Alert, looked_up
from alerting.resources import GPU_SENTENCE, SERVES
from exporters.gpu import metrics as gpu
from exporters.gpu.xid import catalogue
from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from prometheus.promql import aggregate, block, configured, selector

CARD = ("node", "gpu", "uuid")
# An XID happens in an instant; a ticket must stay long enough to be read.
XID_WINDOW = "1h"


def _missing() -> str:
    """Return how many GPUs a node has fewer than it should, by what is configured or else by its PCI bus."""
    by_flag, by_bus = (
        aggregate("max", ("node",), selector(gpu.DEVICES_EXPECTED, source=source)) for source in ("config", "pci")
    )
    by_file = configured(probe.GPU_EXPORTER_EXPECTED, ("node",))
    expected = block(f"{by_flag}\nor\n{by_file}\nor\n{by_bus}")
    # Without NVML there are no GPUs to count, and none that work.
    found = aggregate("max", ("node",), f"{gpu.DEVICES} or 0 * {gpu.NVML_UP}")
    return f"{expected}\n- on (node)\n{found}\n> 0"


def _lost() -> Alert:
    down = f"{aggregate('max', CARD, str(gpu.UP))} == 0"
    released = f"{aggregate('max', ('node',), str(gpu.RELEASED))} == 1"
    # A GPU that is known to be down is told of by name, and not once more as one too few.
    nameless = f"{_missing()}\nunless on (node)\n{released}\nunless on (node)\n({down})"
    return Alert(
        "GPULost",
        expr=f"1 + ({down})\nor\n{block(nameless)}",
        wait="2m",
        severity="ticket",
        family="gpu",
        summary=(
            "{{ if $labels.gpu }}GPU {{ $labels.gpu }} of {{ $labels.node }} does not answer"
            "{{ else }}{{ $labels.node }} has {{ $value }} GPU(s) fewer than it should{{ end }}"
        ),
        description=(
            "{{ if $labels.gpu }}"
            f"{GPU_SENTENCE} has not answered NVML for two minutes."
            + looked_up(
                f"{gpu.LAST_ERROR_CODE}{{node='%s', gpu='%s'}}",
                "node",
                "gpu",
                before=" The last NVML error is ",
                shown="value .",
                after=" (15: lost, 16: reset required, 999: unknown).",
            )
            + SERVES
            + "{{ else }}For two minutes, NVML on {{ $labels.node }} has shown {{ $value }} GPU(s) fewer than are "
            "configured or on its PCI bus.{{ end }} Likely: it fell off the bus (XID 79), the driver is not loaded, "
            "or a container lost its devices."
        ),
    )


def _xid() -> Alert:
    # By number, as an exporter that says which are critical may be gone with its node.
    counted = selector(names.GPU_XID_ERRORS, xid="=~" + "|".join(map(str, catalogue.of_severity("critical"))))
    # A series that was not there an hour ago was made by its first XID, which increase() does not see. Its last value
    # counts, also when the exporter was restarted since.
    new = f"last_over_time({counted}[{XID_WINDOW}])\nunless\n{counted} offset {XID_WINDOW}"
    more = f"increase({counted}[{XID_WINDOW}])"
    return Alert(
        "GPUXid",
        expr=f"{aggregate('sum', (*CARD, 'xid'), f'{block(new)} or {more}')} > 0",
        wait="30s",
        severity="ticket",
        family="gpu",
        summary="GPU {{ $labels.gpu }} of {{ $labels.node }} reported XID {{ $labels.xid }}",
        description=(
            f"{GPU_SENTENCE} reported XID {{{{ $labels.xid }}}} {{{{ $value | printf `%.0f` }}}} time(s) in the last "
            "hour, a fault after which it or its memory does not work until somebody acts."
            + looked_up(
                f"max by (action) ({gpu.XID_INFO}{{xid='%s'}})",
                "xid",
                before=" First action: ",
                shown=".Labels.action",
                after=".",
            )
            + SERVES
            + " Likely: the card, its power or its heat; the driver, if it happens on all GPUs."
        ),
    )


def alerts() -> list[Alert]:
    """Return the alerts on faults of GPUs."""
    return [_lost(), _xid()]
