"""Checks a configuration from the file to the last metrics address."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from inferwatch.config import Auth, Config, Target, load_config
from inferwatch.config.consistency import OWN_NODE
from inferwatch.errors import ConfigError
from inferwatch.secrets import SecretError, auth_headers
from stack.check.endpoint import check_endpoint
from stack.check.engine import check_engine
from stack.check.findings import Finding, Report, fail, ok, warn
from stack.check.fit import check_fit, check_pace
from stack.check.gpus import check_gpu_exporter, check_own_gpus, own_address, serving_on
from stack.check.limits import check_limits
from stack.check.reach import reach, reach_proxy
from stack.check.sleep import check_sleep
from stack.check.spend import check_spending
from stack.page.figures import plural

EXIT_FINE, EXIT_FAILED, EXIT_CONFIG = 0, 1, 2
AT_ONCE = 8


def check(config_file: Path, report: Report | None = None) -> int:
    """Validate the file, then try each target and GPU exporter, and print what was found.

    Returns:
        0 if nothing failed, 1 if something did, 2 if the file is not valid.
    """
    try:
        config = load_config(config_file, option="--config")
    except ConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CONFIG
    report = report or Report()
    report.section(str(config_file), _file(config))
    subjects: list[tuple[str, Callable[[], list[Finding]]]] = []
    for target in config.targets:
        subjects.append((f"target {target.name}", partial(check_target, config, target)))
    if own := serving_on(config, OWN_NODE):
        subjects.append(("GPUs of this machine", partial(check_own_gpus, own, own_address())))
    for one in config.gpu_exporters:
        work = partial(check_gpu_exporter, one, serving_on(config, one.node))
        subjects.append((f"GPU exporter {one.address} of {one.node}", work))
    with ThreadPoolExecutor(AT_ONCE, "check") as pool:
        found = [(subject, pool.submit(work)) for subject, work in subjects]
        for subject, future in found:
            report.section(subject, future.result())
    report.summary()
    return EXIT_FAILED if report.failed else EXIT_FINE


def check_target(config: Config, target: Target) -> list[Finding]:
    """Try everything of one target; what lies behind a broken part is not tried."""
    findings: list[Finding] = []
    headers: dict[str, str] = {}
    usable_key = True
    if target.auth is not None:
        try:
            headers = auth_headers(target.auth)
            findings.append(ok("secret", f"{_place(target.auth)} holds a key"))
        except SecretError as error:
            usable_key = False
            findings.append(fail("secret", str(error)))
    sleeping, go_on = check_sleep(target) if usable_key else ([], True)
    findings += sleeping
    if not go_on:
        return [*findings, *_reckoned(config, target)]
    way = reach_proxy(target.proxy) if target.proxy else reach(target.url, bool(headers), target.tls)
    findings += way
    reached = way[-1].level != "fail"
    if usable_key and reached:
        findings += check_endpoint(target, headers)
    findings += check_engine(target, headers, reached)
    return [*findings, *_reckoned(config, target)]


def _reckoned(config: Config, target: Target) -> list[Finding]:
    """Return what the file alone tells of the target's probes."""
    return [*check_limits(config, target), *check_pace(config, target), check_spending(config, target)]


def _file(config: Config) -> list[Finding]:
    if not config.targets:
        return [warn("file", "valid, and lists no target", "add one under targets:, or set INFERWATCH_TARGET_URL")]
    exporters = f" and {plural(len(config.gpu_exporters), 'GPU exporter')}" if config.gpu_exporters else ""
    found = [ok("file", f"valid, with {plural(len(config.targets), 'target')}{exporters}")]
    fit = check_fit(config)
    return [*found, fit] if fit is not None else found


def _place(auth: Auth) -> str:
    """Say where the secret is; these are names of files and variables, never their values."""
    header = auth.header
    file = auth.bearer_file or (header.file if header else None)
    return file if file else f"the variable {auth.bearer_env or (header.env if header else '')}"
