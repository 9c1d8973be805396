"""Checks of routes: find a miss, look for a channel count that reaches the kernel, weigh the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.measured_gain import UNMEASURED, Gain, judge
from onnxlint_cmsis.checks.subjects import Subject, freedom_text, with_resize
from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.library import Route, delegations_of
from onnxlint_cmsis.cmsis_nn.rows import Origin
from onnxlint_cmsis.ground.findings import MEASURED, Content, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, KernelCall, Level, Target


class RoutingCheck(NamedTuple):
    """One routing constraint of the wrappers."""

    entries: frozenset[str]
    """Entry points it speaks of."""
    kernels: frozenset[str]
    """Kernels that satisfy it, taken or effective."""
    scope: Condition
    """When a miss is worth telling: the layer is of the kernel's kind."""
    variables: tuple[str, ...] = ()
    """Channel counts that may reach the kernel."""
    told: frozenset[str] = frozenset()
    """Kernels whose unmet conditions are told; empty for all."""
    gain: Gain = UNMEASURED
    """Where the kernels are known to be faster."""
    builds: Callable[[Target], bool] | None = None
    """Which builds it speaks of, where the kernels are the same code in others; None for all."""

    def __call__(self, subject: Subject) -> Iterator[Statement]:
        """Yield at most one statement on one layer and target."""
        if not self.misses(subject):
            return
        reached = next(self.reach(subject), None)
        if reached is None:
            miss = next(misses_of(self, subject), None)
            sized = miss is not None and all(part.names() - STEPS for part in miss.failed)
            if miss is not None and sized and not subject.route.hazards:
                text = f"runs {subject.route.effective}: {miss.explain(subject)}."
                yield _cited(replace(subject.say(text), level=Level.NOTE, wanted=miss.kernel), subject, miss)
        elif reached.route.effective not in ("", subject.route.effective):  # undecided, or the same work as before
            yield from _reachable(self, subject, reached)

    def misses(self, subject: Subject) -> bool:
        """Tell whether the layer is of the kernels' kind, and decided, and takes another kernel."""
        taken = subject.route
        if not taken.kernel or taken.undecided or self.satisfied(taken):
            return False
        if self.builds is not None and not self.builds(subject.target):
            return False
        return self.concerns(subject.layer.call)

    def concerns(self, call: KernelCall) -> bool:
        """Tell whether the layer is of the kernels' kind, whichever it takes."""
        return call.entry in self.entries and self.scope.evaluate(call.variables()) is True

    def satisfied(self, route: Route) -> bool:
        """Tell whether a route takes a wanted kernel, by the wrapper or by delegation."""
        return route.kernel in self.kernels or route.effective in self.kernels

    def there(self, _said: Content, route: Route) -> bool:
        """Tell whether what was said holds for another route of its layer."""
        return not self.satisfied(route)

    def reach(self, subject: Subject) -> Iterator[Reached]:
        """Channel counts above the present ones that take a wanted kernel, nearest first."""
        for variable in self.variables:
            for want, route in subject.candidates(variable):
                if self.satisfied(route):
                    yield Reached(variable, want, route)


class Reached(NamedTuple):
    """A channel count that takes the wanted kernel."""

    variable: str
    """CMSIS-NN's name of the count."""
    want: int
    """Nearest size above."""
    route: Route
    """Route at that size."""


class Miss(NamedTuple):
    """Why a wanted kernel is not taken."""

    kernel: str
    """The wanted kernel."""
    failed: tuple[Condition, ...]
    """Conditions that do not hold."""
    origin: Origin
    """Where they stand in the C source."""

    def explain(self, subject: Subject) -> str:
        """Name the conditions with what the layer has."""
        values = subject.layer.call.variables()
        return f"{self.kernel} needs {' and '.join(part.explain_with(values) for part in self.failed)}"


def misses_of(check: RoutingCheck, subject: Subject) -> Iterator[Miss]:
    """Branches and tiles of this release and instruction set that lead to a wanted kernel, with what failed."""
    taken, values = subject.route, subject.layer.call.variables()
    told = check.told or check.kernels
    for branch, failed in taken.tried:
        if branch.kernel in told and failed and not _same_work(branch.kernel, subject):
            yield Miss(branch.kernel, failed, branch.place_of(failed[0]))
    for kernel in taken.chain:
        for row in delegations_of(kernel, subject.target.release, subject.target.isa):
            failed = row.when.failures(values)
            if row.callee in told and failed:
                yield Miss(row.callee, failed, row.origin)


def _same_work(kernel: str, subject: Subject) -> bool:
    """Tell whether a kernel only hands on to what runs already, as 1xN does without MVE."""
    values, target = subject.layer.call.variables(), subject.target
    while kernel:
        if kernel == subject.route.effective:
            return True
        rows = delegations_of(kernel, target.release, target.isa)
        kernel = next((row.callee for row in rows if row.when.evaluate(values)), "")
    return False


def _reachable(check: RoutingCheck, subject: Subject, reached: Reached) -> Iterator[Statement]:
    miss = next(misses_of(check, subject), None)
    if miss is None or reached.route.hazards:  # nobody should take a size at which the kernel fails
        return
    change = subject.resize(reached.variable, reached.want)
    after = subject.layer.resized(reached.variable, reached.want)
    level, verdict = judge(check.gain, subject.target, subject.layer.call, after)
    text = (
        f"{change.variable} {change.have} -> {change.want} would take {reached.route.effective} instead of "
        f"{subject.route.effective}"
    )
    said = replace(
        subject.say(f"{text}: {miss.explain(subject)}. {freedom_text(change)}."),
        level=Level.NOTE if change.freedom is Freedom.LOCKED else level,
        properties={f"{MEASURED}{subject.target.cpu}": f"{verdict}."},
        brief=subject.say(f"{text}.").message,
    )
    yield _cited(with_resize(said, change, reached.route.effective), subject, miss)


STEPS = frozenset({"stride.h", "stride.w", "dilation.h", "dilation.w"})
"""Variables that are no sizes: what a layer computes hangs on them, and no size makes up for them."""


def _cited(said: Statement, subject: Subject, miss: Miss) -> Statement:
    conditions = " and ".join(part.explain() for part in miss.failed)
    change = said.resize.freedom.value if said.resize else str(said.properties.get("hazard", ""))
    group = f"{miss.kernel}: {conditions}; {change}"
    return replace(said, sources=(miss.origin.source(subject.target.release),), group=group)
