"""Runs probes of the configuration in force and keeps their records; which one is due is the schedule's business."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from exporters.probe.asking.run import ProbeResult, run_probe, unasked
from exporters.probe.asking.transcript import Transcript
from exporters.probe.failures import ProbeError
from exporters.probe.key import Key, server_of
from exporters.probe.scheduling.expected import expected_seconds
from exporters.probe.scheduling.history import History
from exporters.probe.scheduling.late import Late
from exporters.probe.scheduling.manners import Manners
from exporters.probe.scheduling.plan import Plan, by_target, plans_of
from exporters.probe.scheduling.refusals import Refusals
from exporters.probe.scheduling.spending import Spending
from exporters.probe.series.record import Record
from exporters.probe.series.responses import Responses
from exporters.probe.targets.first_models import FirstModels
from exporters.probe.targets.identity import Identities
from exporters.probe.targets.naps import Naps
from exporters.probe.targets.time_left import time_left
from inferwatch.config import Config, Scenario, Target

log = logging.getLogger(__name__)


class Prober:
    """Holds the plans, the records and the models that servers were found to serve.

    Args:
        clock: Returns Unix time.
        state_folder: Where what was spent today and what targets refuse is kept; None keeps it in memory alone.
        naps: Tells which targets sleep; by default by the engine that the configuration names.

    Attributes:
        spending: What probes have spent.
        manners: Which targets are left alone for a while.
        naps: Which targets sleep, and must not be woken.
        history: The last probes of each target and scenario.
        refusals: Which parameters targets refuse.
        identities: What their answers call the model.
        responses: With which status they answer.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, state_folder: Path | None = None, naps: Naps | None = None
    ) -> None:
        self._clock = clock
        self.spending = Spending(clock, state_folder)
        self.manners = Manners()
        self.naps = naps or Naps(lambda target: target.engine)
        self.history = History()
        self.refusals = Refusals(clock, state_folder)
        self.identities = Identities()
        self.responses = Responses()
        self._lock = threading.Lock()
        self._plans: dict[Key, Plan] = {}
        self._plans_of: dict[str, list[Plan]] = {}  # the same by target
        self._models = FirstModels()
        self._succeeded: dict[str, float] = {}  # when, in monotonic seconds, by target's name
        self._late = Late()
        self._inflight = self._on_request = 0
        self._stopping = False

    def apply(self, config: Config) -> set[Key]:
        """Take a configuration over; records of what is measured as before are kept.

        Returns:
            The keys that measure something new.
        """
        with self._lock:
            before = {server_of(plan.target) for plan in self._plans.values()}
            plans, fresh = plans_of(config, self._plans, self.model_of)
            self._plans = plans
            self._plans_of = by_target(plans.values())
            # What another server said of itself says nothing about this one.
            same = {target.name for target in config.targets if server_of(target) in before}
            self._succeeded = {name: at for name, at in self._succeeded.items() if name in same}
            self._models.forget_all_but(config.targets)
            # With the lock, so that a probe that ends now does not tell it to those who have just forgotten.
            self.responses.apply({target.name for target in config.targets})
            self.refusals.apply(config.targets)
            self.identities.forget_all_but(same)
            self.manners.forget_all_but(set(plans) - fresh, same)
            self.history.forget_all_but(set(plans) - fresh)
        self.spending.apply(config)
        self.naps.forget_all_but(config.targets)
        return fresh

    def plans(self) -> Mapping[Key, Plan]:
        """Return the plans in force."""
        return self._plans

    def records(self) -> Mapping[Key, Record]:
        """Return the records by target and scenario."""
        return {key: plan.record for key, plan in self._plans.items()}

    def intervals(self) -> Mapping[Key, float]:
        """Return the seconds between two probes by target and scenario."""
        return {key: plan.interval for key, plan in self._plans.items()}

    def lasting(self) -> Mapping[Key, float]:
        """Return the seconds that a probe is expected to take by target and scenario."""
        return {key: expected_seconds(plan.scenario) for key, plan in self._plans.items()}

    def inflight(self) -> int:
        """Return how many probes of the schedule run now."""
        return self._inflight

    def on_request(self) -> int:
        """Return how many probes run now because somebody asked for them."""
        return self._on_request

    def model_of(self, target: Target) -> str:
        """Return the model that is asked for, or "" while it is not known."""
        return self._models.of(target)

    def succeeded_at(self, target: str) -> float | None:
        """Return when a scheduled probe of a target succeeded last, in monotonic seconds."""
        return self._succeeded.get(target)

    def skip(self, key: Key, reason: str) -> None:
        """Count a probe that was due and was not started."""
        plan = self._plans.get(key)
        if plan is not None:
            plan.record.skip(reason)
            self._late.saw(key, reason)

    def save(self) -> None:
        """Keep across a restart what has changed of spending and refusals."""
        self.spending.budgets.save()
        self.refusals.save()

    def stop(self) -> None:
        """Start no more probes."""
        self._stopping = True

    def run(self, key: Key) -> None:
        """Run the probe that is due, unless its target is left alone; never raises for what a server does."""
        plan = self._plans.get(key)
        if plan is None or self._stopping:
            return
        target = plan.target
        if self.manners.paused(target.name) == 0 and not self.naps.may_probe(target, self.model_of(target)):
            plan.record.skip("asleep")
            return
        if not self.manners.may_start(key, plan.interval):
            plan.record.skip("backoff")
            return
        booking = self.spending.book(target, plan.name, plan.scenario)
        if booking is None:
            log.debug("target %s: the probe budget is spent for today", target.name)
            plan.record.skip("budget")
            return
        result: ProbeResult | None = None
        again = False
        with self._lock:
            self._inflight += 1
        plan.record.start()
        try:
            result = self._probe(plan)
            if self._stopping and result.outcome != "success":
                # It was interrupted by us; the counters end with the process.
                return
            again = self._learn(plan, result)
        finally:
            self.spending.settle(booking, result)
            with self._lock:
                self._inflight -= 1
        if again:
            self.run(key)

    def _learn(self, plan: Plan, result: ProbeResult) -> bool:
        """Take over what a probe found out; return whether the next one is due at once.

        After a reload its record may be nobody's, and its server not the target's any more: then nothing of it may
        show in what is in force.
        """
        name, now = plan.target.name, self._clock()
        with self._lock:
            held, before = self._plans.get(plan.key), plan.record.last
            plan.record.end(result, plan.target.slo, now)
            if held is None or held.record is not plan.record:
                self._note_patience(plan.target, result)
                return False
            self.manners.ended(plan.key, result.outcome, result.retry_after_seconds)
            self.history.add(plan.key, result, now)
            self.responses.count(name, result.status_code)
            changed = self.identities.saw(name, result.model_name, result.response_model, result.fingerprint)
            if result.outcome == "success":
                self._succeeded[name] = time.monotonic()
            refuses = result.refused and self.refusals.add(held.target, result.model_name, result.refused)
        _log(plan, before, result)
        for field in changed:
            log.warning("target %s: its answers name another %s than before", name, field)
        if refuses:
            log.warning("target %s refuses %s; its probes send it no more", name, result.refused)
        # What was found out is used at once, by a probe that is counted as one of its own; and a server that is down
        # would be found out an interval later over a kept connection than over a new one.
        return bool(refuses) or result.stale_connection

    def _note_patience(self, target: Target, result: ProbeResult) -> bool:
        """Note what a server asked for if a target is still there; return whether one is. The lock must be held."""
        there = any(server_of(plan.target) == server_of(target) for plan in self._plans_of.get(target.name, ()))
        if there:
            self.manners.asked_for_patience(target.name, result.outcome, result.retry_after_seconds)
        return there

    def once(
        self, target: Target, name: str, scenario: Scenario, transcript: Transcript | None = None
    ) -> ProbeResult | str:
        """Run a probe that was asked for; its tokens, budget and manners count, the schedule's other series do not.

        Returns:
            The result, or a sentence that says why it may not run.
        """
        if (seconds := self.manners.paused(target.name)) > 0:
            return f"{target.name} asked to be left alone for {seconds:.0f} s more (Retry-After)"
        if self._stopping:
            return "this process is stopping"
        began = time.monotonic()
        if not self.naps.may_probe(target, self.model_of(target), scenario.timeout or 60.0):
            return (
                f"{target.name} sleeps, or cannot be asked whether it does, and wake: false keeps probes from waking it"
            )
        try:
            scenario = time_left(scenario, began, "asking whether it sleeps")
        except ProbeError as error:
            return unasked(target, name, error)
        booking = self.spending.book(target, name, scenario, due=False)
        if booking is None:
            return self.spending.why_not(target, name, scenario, f"the probe_budget of {target.name}")
        result: ProbeResult | None = None
        with self._lock:
            self._on_request += 1
        try:
            result = self._probe(Plan(target, name, scenario, Record("")), transcript)
            with self._lock:
                if self._note_patience(target, result):
                    self._count_tokens(result)
            return result
        finally:
            self.spending.settle(booking, result)
            with self._lock:
                self._on_request -= 1

    def _count_tokens(self, result: ProbeResult) -> None:
        """Add the tokens to the target's series: to the scenario's, or to another's if it is not in the schedule."""
        plans = sorted(self._plans_of.get(result.target, ()), key=lambda plan: plan.name != result.scenario)
        for plan in plans[:1]:
            plan.record.spend(result)

    def _probe(self, plan: Plan, transcript: Transcript | None = None) -> ProbeResult:
        """Return the result of one probe, or of finding out its model; a fault of ours is the outcome `internal`."""
        try:
            return self._ask(plan, transcript)
        except Exception:
            log.exception("target %s, scenario %s: inferwatch failed", *plan.key)
            return ProbeResult(*plan.key, plan.record.model_name, "internal", "inferwatch failed; its log says how")

    def _ask(self, plan: Plan, transcript: Transcript | None) -> ProbeResult:
        began = time.monotonic()
        try:
            model = self._model(plan, transcript)
            scenario = time_left(plan.scenario, began, "listing the models")
        except ProbeError as error:
            return unasked(plan.target, plan.name, error)
        refused = self.refusals.of(plan.target, model)
        result = run_probe(plan.target, plan.name, scenario, model, refused, transcript, plan.kept)
        if result.outcome == "not_found" and plan.target.model is None:
            self._models.forget(plan.target)
        return result

    def _model(self, plan: Plan, transcript: Transcript | None) -> str:
        """Return the model to ask for; what the server lists first, where the file names none. Raises ProbeError."""
        target = plan.target
        model = self._models.find(target, plan.scenario.timeout or 60.0, transcript)
        # Every scenario of the target is told, so that their series have the same label from now on.
        for other in self._plans_of.get(target.name, ()):
            if other.target == target:
                other.record.name_model(model)
        plan.record.name_model(model)
        return model


def _log(plan: Plan, last: ProbeResult | None, result: ProbeResult) -> None:
    """Write a line when the outcome changes; the rest is in the metrics."""
    if last is not None and last.outcome == result.outcome:
        return
    if result.outcome != "success":
        log.warning("target %s, scenario %s: %s: %s", *plan.key, result.outcome, result.detail)
    elif last is None or last.outcome != "success":
        log.info("target %s, scenario %s: success with model %s", *plan.key, result.model_name)
