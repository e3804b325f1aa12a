"""The service `probe-exporter`: probes the targets of inferwatch.yml and serves what it measured."""

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from exporters.probe.exporter import ProbeExporter
from exporters.probe.heap import keep_heap_small
from inferwatch import logs, service
from inferwatch.config import load_config
from inferwatch.errors import ConfigError
from inferwatch.web_config.keeper import WebConfigKeeper

PORT = 9811
# A thread that renders /metrics would otherwise hold the interpreter for 5 ms at a time while a stream's bytes wait.
SWITCH_INTERVAL = 0.0005


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGTERM or SIGINT; exit with 0, with 1 if it cannot start, with 2 for an invalid configuration."""
    keep_pauses_short()
    keep_heap_small()
    service.run(lambda: _run(_parser().parse_args(arguments)))


def keep_pauses_short() -> None:
    """Let a stream's bytes wait as little as possible for other threads (docs/accuracy.md says what it brings)."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    # What is imported stays; going through all of it, the garbage collector would stop every thread for some 25 ms.
    gc.freeze()


def _parser() -> argparse.ArgumentParser:
    parser = service.flags("probe-exporter", "Probes LLM endpoints and exports what it measured.", PORT)
    parser.add_argument(
        "--config.file", dest="config_file", type=Path, metavar="FILE", default=Path("config/inferwatch.yml"),
        help="the configuration",
    )  # fmt: skip
    parser.add_argument(
        "--config.check", dest="check", action="store_true", help="validate the configuration, then exit with 0 or 2"
    )
    parser.add_argument(
        "--state.dir", dest="state_dir", type=Path, metavar="DIR", default=Path("state"),
        help="where the last good configuration, the spending of today and what servers refuse are kept",
    )  # fmt: skip
    parser.add_argument(
        "--probe.allow-any-target", dest="any_target_tokens", type=_tokens, metavar="TOKENS", default=0,
        help="let /probe ask any URL what ships with inferwatch, for at most so many tokens a day; "
        "0 allows the targets of the file alone",
    )  # fmt: skip
    parser.add_argument(
        "--debug", action="store_true",
        help="let /probe?debug=1 quote prompts and answers, with secrets blotted out; without it nothing is quoted",
    )  # fmt: skip
    return parser


def _tokens(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of tokens, such as 100000")
    return int(text[:18])


def _run(options: argparse.Namespace) -> int:
    logs.configure(options.log_level, options.log_format)
    if options.check:
        return _check(options.config_file)
    web = WebConfigKeeper(options.web_config_file) if options.web_config_file is not None else None
    exporter = ProbeExporter(
        options.config_file,
        options.state_dir,
        options.listen,
        web,
        any_target_tokens=options.any_target_tokens,
        quotes=options.debug,
    )

    def reload() -> None:
        exporter.keeper.reload()

    signals = service.Signals(on_hangup=reload)
    exporter.start()
    signals.wait()
    exporter.stop()
    return 0


def _check(file: Path) -> int:
    try:
        config = load_config(file, option="--config.file")
    except ConfigError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the answer to --config.check
        return 2
    print(f"{file} is valid; targets: {len(config.targets)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    main()
