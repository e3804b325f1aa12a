"""The `inferwatch` command."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from inferwatch import __version__
from inferwatch.durations import parse_duration
from inferwatch.errors import ConfigError, InferwatchError
from stack import ports as loopback
from stack.demo import run as demo_run
from stack.services import DEFAULT_PORTS
from stack.up import up as run_up

EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Config = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]
For = Annotated[float | None, typer.Option("--for", parser=_duration, metavar="TIME", help="End after e.g. 2m.")]
RunDir = Annotated[Path | None, typer.Option(help="Where logs and data go.", show_default="run/ in the checkout")]
Port = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=PORT", help=f"Another port for one of {', '.join(demo_run.PORTS)}; may be repeated."),
]
FreePorts = Annotated[bool, typer.Option("--free-ports", help="Take ports that are free now.")]
DEFAULT_CONFIG = Path("config/inferwatch.yml")


@app.callback()
def inferwatch() -> None:
    """Watches LLM inference servers: is it slow, who notices, why, since when, and what does it cost?"""


@app.command()
def up(
    config: Config = DEFAULT_CONFIG,
    seconds: For = None,
    run_dir: RunDir = None,
    port: Port = None,
    free_ports: FreePorts = False,
) -> None:
    """Run the stack on this machine, without containers, against your own endpoints."""
    sys.exit(run_up(config, run_dir, _ports(DEFAULT_PORTS, port, free_ports), seconds))


@app.command()
def demo(
    seconds: For = None,
    run_dir: RunDir = None,
    simulate: Annotated[
        int | None, typer.Option(min=1, max=64, metavar="N", help="Simulate N GPUs even if there are real ones.")
    ] = None,
    port: Port = None,
    free_ports: FreePorts = False,
) -> None:
    """Run the stack with a real small model on this CPU and simulated users on it."""
    sys.exit(demo_run.demo(run_dir, _ports(demo_run.PORTS, port, free_ports), seconds, simulate))


@app.command()
def check(config: Config = DEFAULT_CONFIG) -> None:
    """Validate the configuration, then try each part of each target and say what to do."""
    from stack.check import check as run_check

    sys.exit(run_check(config))


@app.command()
def probe(
    target: Annotated[str | None, typer.Argument(help="The name of a target; without one, all are probed.")] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show event by event what was sent and answered, without secrets.")
    ] = False,
) -> None:
    """Probe now and print phases, timing, tokens and verdict."""
    from stack.probe_now import probe_now

    sys.exit(probe_now(config, target, as_json, debug))


@app.command()
def page(
    services_file: Annotated[Path, typer.Option("--services.file", help="Which parts there are and where.")],
    listen: Annotated[
        str, typer.Option("--web.listen-address", metavar="HOST:PORT", help="Where to serve the page.")
    ] = f"{loopback.HOST}:{DEFAULT_PORTS['page']}",
    notifications_file: Annotated[
        Path | None, typer.Option("--notifications.file", help="Append each notification to this file, as JSON lines.")
    ] = None,
) -> None:
    """Serve the start page, which also receives Alertmanager's notifications."""
    from stack.page import serve

    serve(listen, services_file, notifications_file)


@app.command()
def gpu(
    once: Annotated[bool, typer.Option("--once", help="Print one table and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and end.")] = False,
    simulate: Annotated[
        int | None, typer.Option(min=1, max=64, metavar="N", help="Show N simulated GPUs instead.")
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option("--simulate.control", metavar="FILE", help="What the simulated GPUs are ordered to do."),
    ] = None,
) -> None:
    """Show the GPUs of this machine, and what slows them down; Ctrl-C ends it."""
    from stack.gpu_table import show

    sys.exit(show(simulate, control, once, as_json))


@app.command()
def version() -> None:
    """Print the version."""
    print(f"inferwatch {__version__}")


def _ports(defaults: dict[str, int], given: list[str] | None, free: bool) -> dict[str, int]:
    """Return the port of each service: those given, else free ones if asked for, else the usual ones."""
    ports = dict(zip(defaults, loopback.free_ports(len(defaults)), strict=True)) if free else dict(defaults)
    for text in given or ():
        name, _, number = text.partition("=")
        if name not in defaults or not number.isdigit() or not 0 < int(number) < 65536:
            raise InferwatchError(
                f"--port {text}: write NAME=PORT, such as prometheus=19090; the names are {', '.join(defaults)}"
            )
        ports[name] = int(number)
    return ports


def main() -> None:
    """Run the command; an error of ours is printed as its sentences, without a traceback."""
    # A log file or `tee` must show progress as it happens, as a terminal does; one of ASCII must not end a command.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    try:
        app()
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_CONFIG)
    except InferwatchError as error:
        print(error, file=sys.stderr)
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
