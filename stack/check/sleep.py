"""Whether a target that probes must not wake can be asked if it sleeps."""

from exporters.probe.targets.engine_kinds import EngineKinds
from exporters.probe.targets.naps import TELLING_ENGINES, sleeps
from inferwatch.config import Config, Target
from stack.check.findings import Finding, fail, ok


def check_sleep(target: Target) -> tuple[list[Finding], bool]:
    """Ask a target with `wake: false` as the prober does.

    Returns:
        What was found, and whether the rest may be tried: not on a target that a request would start.
    """
    if target.wake:
        return [], True
    engine = _engine_of(target)
    found = sleeps(target, target.model or "", engine)
    if found is None:
        return [_untold(target, engine)], True
    if found and target.awake_url is not None:
        return [ok("sleep", "it sleeps; the rest is not tried, since a request would wake it")], False
    return [ok("sleep", "it sleeps, so it is not probed now" if found else "it is awake")], True


def _engine_of(target: Target) -> str:
    kinds = EngineKinds()
    kinds.refresh(Config(targets=[target]))
    return kinds.name_of(target)


def _untold(target: Target, engine: str) -> Finding:
    if target.awake_url is not None:
        todo = "write an address that answers while the target sleeps; until then the target is not probed"
        return fail("sleep", f"nothing answers at awake_url: {target.awake_url}", todo)
    known = ", ".join(TELLING_ENGINES)
    text = f"wake: false, and the engine ({engine}) does not tell whether it sleeps; those that do: {known}"
    return fail(
        "sleep", text, "write awake_url:, or engine: if it is one of these; until then the target is not probed"
    )
