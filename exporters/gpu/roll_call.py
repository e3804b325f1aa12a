"""What the workers of all GPUs say together."""

from collections.abc import Iterator, Sequence

from exporters.gpu.errors import DriverError, GpuDeadError, LifecycleError, UnknownError
from exporters.gpu.integrator import ReasonIntegrator
from exporters.gpu.report import GpuReport
from exporters.gpu.worker import Worker


def present(
    workers: Sequence[Worker],
    gone: dict[str, GpuReport],
    integrators: dict[str, ReasonIntegrator],
    sampled_since: float,
    now: float,
) -> Iterator[GpuReport]:
    """Yield each GPU that NVML shows, once its first collection has ended or hangs.

    Args:
        workers: One for each GPU.
        gone: Those that were here before, by uuid.
        integrators: What the sampler saw, by uuid.
        sampled_since: How old the last sample may be, on the monotonic clock.
        now: The time on the same clock.
    """
    by_index = {last.gpu: uuid for uuid, last in gone.items()}
    for worker in workers:
        if worker.outcome is None and not worker.stuck_for(now):
            continue
        # A GPU that was lost when NVML was initialised again is the one that was at its index before.
        uuid = worker.uuid or by_index.get(worker.gpu, "")
        snapshot = worker.fresh(now)
        sampled = integrators.get(uuid) if snapshot else None
        yield GpuReport(
            gpu=worker.gpu,
            uuid=uuid,
            up=snapshot is not None,
            stuck=worker.stuck_for(now) > 0,
            suspended=worker.suspended(now),
            last_error_code=worker.last_error_code,
            last_success=worker.last_success,
            seconds=worker.outcome.seconds if worker.outcome else None,
            snapshot=snapshot,
            totals=sampled.totals(sampled_since) if sampled else None,
            good_until=worker.good_until(now),
        )


def why_none_answers(workers: Sequence[Worker]) -> DriverError | None:
    """Return why no GPU answers, if that is known: the driver is gone, or every GPU is lost; None if it may pass."""
    outcomes = [worker.outcome for worker in workers]
    errors = [outcome.error for outcome in outcomes if outcome and outcome.error]
    driver = next((error for error in errors if isinstance(error, LifecycleError | UnknownError)), None)
    if driver is not None:
        return driver
    all_dead = outcomes and all(outcome and isinstance(outcome.error, GpuDeadError) for outcome in outcomes)
    return errors[0] if all_dead else None


def hung(workers: Sequence[Worker], longest: float, now: float) -> str | None:
    """Return which GPU has hung for longer than so many seconds past its deadline, or None."""
    for worker in workers:
        if worker.stuck_for(now) > longest:
            name = f"GPU {worker.gpu} ({worker.uuid or 'uuid not known'})"
            return f"{name} has hung inside the driver for {worker.stuck_for(now):.0f} s past its deadline"
    return None
