"""Route a call: the kernel that runs it, and its hazards. Pure: tables in, a Route out."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.delegations import delegations_of
from onnxlint_cmsis.cmsis_nn.entry_points import single_branch
from onnxlint_cmsis.cmsis_nn.expressions import Values
from onnxlint_cmsis.cmsis_nn.hazards import hazards_of
from onnxlint_cmsis.cmsis_nn.routes import wrapper_for
from onnxlint_cmsis.cmsis_nn.rows import Branch, Hazard, ScratchSize, Wrapper
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import KernelCall, Target

Tried = tuple[tuple[Branch, tuple[Condition, ...]], ...]
"""Branches in the order of the C source, each with the conditions that are not True."""


class Route(NamedTuple):
    """What a call does on a target."""

    kernel: str = ""
    """C function the wrapper calls; empty where none can be named, with `reason` or `undecided` saying why."""
    chain: tuple[str, ...] = ()
    """Every public kernel in order of delegation, `kernel` first, as far as it is decided."""
    effective: str = ""
    """Function that does the work: the last of the chain, or the static function inside it; empty where undecided."""
    status: int | None = None
    """Status returned, 0 for success; None where it is undecided or the call returns none."""
    buffer_size: int | None = None
    """Scratch bytes the size function answers; None where undecided, -1 where there is no such function."""
    reverse_buffer_size: int | None = -1
    """Bytes of the second context of a transposed convolution; -1 where the entry point has none."""
    hazards: tuple[Hazard, ...] = ()
    """Hazards of the call: rows whose condition is True. Buffers that a caller must allocate are not among them."""
    open_hazards: tuple[Hazard, ...] = ()
    """Rows whose condition an unknown size leaves open."""
    tried: Tried = ()
    """Each branch tried, with the conditions that kept it from being taken; none for the one taken."""
    undecided: frozenset[str] = frozenset()
    """Variables that the kernel, the chain or the status needs and that are unknown."""
    seen: Values = {}  # noqa: RUF012
    """Variables of the kernel: the call's, as the wrapper passes them on, and `ctx.size`."""
    candidates: tuple[str, ...] = ()
    """Kernels still possible; one where decided."""
    reason: str = ""
    """Why there is no kernel."""


class _Ways(NamedTuple):
    """The ways out of a wrapper that the known sizes leave, each a kernel and the values it sees."""

    ways: tuple[tuple[str, Values], ...]
    tried: Tried
    undecided: frozenset[str]

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kernel for kernel, _ in self.ways))

    @property
    def decided(self) -> bool:
        return bool(self.ways) and all(way == self.ways[0] for way in self.ways)


def route(call: KernelCall, target: Target) -> Route:
    """Route one call; sizes that are None are unknown and left undecided.

    An entry point without branches has its one function as kernel; one that the release, or the library, does not
    have gives an empty kernel and the reason.
    """
    return _route(wrapper_for(call.entry) or single_branch(call.entry), call.variables(), target)


def _route(wrapper: Wrapper, values: Values, target: Target) -> Route:
    ways = _ways(wrapper, values, target)
    if not ways.ways:
        return Route(tried=ways.tried, reason=_why_none(wrapper, values, target))
    met, open_ = _met(wrapper.entry, "", values, target)
    known = Route(
        buffer_size=_first_size(wrapper.sizes, values, target),
        reverse_buffer_size=_first_size(wrapper.reverse_sizes, values, target) if wrapper.reverse_sizes else -1,
        hazards=met,
        open_hazards=open_,
        tried=ways.tried,
        undecided=ways.undecided,
        seen=values,
        candidates=ways.kernels,
    )
    if not ways.decided:
        return known
    kernel, seen = ways.ways[0]
    seen = {**seen, "ctx.size": known.buffer_size}
    started = known._replace(kernel=kernel, seen=seen, undecided=frozenset())
    return _run(started, wrapper.entry, kernel, seen, target)


def _why_none(wrapper: Wrapper, values: Values, target: Target) -> str:
    """The limit that keeps every branch from the call, or that the release has no such entry point."""
    absent = f"not in CMSIS-NN {target.release}: {wrapper.absent}"
    if not wrapper.branches_for(target):
        return absent
    return next(filter(None, (limit.failure(values) for limit in wrapper.limits)), absent)


def _ways(wrapper: Wrapper, values: Values, target: Target) -> _Ways:
    """Walk the else-if chain up to the first branch that is certainly taken."""
    tried: list[tuple[Branch, tuple[Condition, ...]]] = []
    ways: list[tuple[str, Values]] = []
    undecided: frozenset[str] = frozenset()
    for branch in wrapper.branches_for(target):
        truth = branch.when.evaluate(values)
        tried.append((branch, branch.when.failures(values)))
        if truth is False:
            continue
        inner = _behind(branch, values, target)
        ways += inner.ways
        tried += _in_callers_terms(branch, inner.tried)
        undecided |= branch.when.unknown(values) | inner.undecided
        if truth:
            break
    return _Ways(tuple(ways), tuple(tried), undecided)


def _behind(branch: Branch, values: Values, target: Target) -> _Ways:
    """Callee of one branch: its kernel, or the wrapper that chooses again."""
    seen = {**values, **{name: value.evaluate(values) for name, value in branch.binds}}
    inner = wrapper_for(branch.entry) if branch.entry else None
    return _ways(inner, seen, target) if inner else _Ways(((branch.kernel, seen),), (), frozenset())


def _in_callers_terms(branch: Branch, tried: Tried) -> Tried:
    """What an inner wrapper tried, said of the outer call's sizes."""
    binds = dict(branch.binds)
    return tuple((inner, tuple(condition.substitute(binds) for condition in failed)) for inner, failed in tried)


def _run(known: Route, entry: str, kernel: str, values: Values, target: Target) -> Route:
    """Follow the delegations from one kernel, collecting hazards; an error ends the call there."""
    met, open_ = _met(entry, kernel, values, target)
    errors = tuple(hazard for hazard in met if hazard.kind == "returns-error")
    if errors:
        met = tuple(hazard for hazard in met if hazard.kind in ("returns-error", "too-large"))
    known = known._replace(
        chain=(*known.chain, kernel),
        hazards=known.hazards + met,
        open_hazards=known.open_hazards + open_,
    )
    if errors:
        return known._replace(effective=kernel, status=errors[0].status)
    unknown = _unknown(open_, values)
    if unknown:
        return known._replace(undecided=unknown)
    return _hand_on(known, entry, kernel, values, target)


def _hand_on(known: Route, entry: str, kernel: str, values: Values, target: Target) -> Route:
    """Go on with the function that a kernel hands the work to, if any."""
    for row in delegations_of(kernel, target.release, target.isa):
        truth = row.when.evaluate(values)
        if truth is None:
            return known._replace(status=0 if row.static else None, undecided=row.when.unknown(values))
        if truth and row.static:
            return known._replace(effective=row.callee, status=0)
        if truth:
            return _run(known, entry, row.callee, values, target)
    return known._replace(effective=kernel, status=0)


def _met(entry: str, kernel: str, values: Values, target: Target) -> tuple[tuple[Hazard, ...], tuple[Hazard, ...]]:
    """Hazards that are certain and hazards that unknown sizes leave open; a caller's duties are not a model's."""
    met: list[Hazard] = []
    open_: list[Hazard] = []
    for hazard in hazards_of(entry, kernel, target):
        truth = hazard.meets(values)
        if truth is not False and not hazard.caller:
            (met if truth else open_).append(hazard)
    return tuple(met), tuple(open_)


def _unknown(hazards: tuple[Hazard, ...], values: Values) -> frozenset[str]:
    """The variables that leave it open whether an error is returned."""
    names = (hazard.unknown(values) for hazard in hazards if hazard.kind == "returns-error")
    return frozenset().union(*names)


def _first_size(sizes: tuple[ScratchSize, ...], values: Values, target: Target) -> int | None:
    for case in sizes:
        if not case.origin.covers(target):
            continue
        truth = case.when.evaluate(values)
        if truth is None:
            return None
        if truth:
            return case.size.evaluate(values)
    return -1
