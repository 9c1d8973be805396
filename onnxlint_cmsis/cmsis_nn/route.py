"""Route a call: the kernel that runs it, why, and its hazards. Pure: tables in, a Route out."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.delegations import delegations_of
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT, Hazard
from onnxlint_cmsis.cmsis_nn.rows import Branch, ScratchSize, Wrapper
from onnxlint_cmsis.cmsis_nn.tables import hazards_of, wrapper_for, wrapper_of
from onnxlint_cmsis.cmsis_nn.terms import Values
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import AS_ASKED, KernelCall, Target

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
    inexact: tuple[Hazard, ...] = ()
    """Rows of kind `inexact` whose condition is True: results are off by a known part."""
    used: int | None = None
    """Bytes of the buffer that its functions take at most; None where that is not known."""

    @property
    def scratch(self) -> int:
        """Bytes of both buffers, as far as they are known."""
        return max(self.buffer_size or 0, 0) + max(self.reverse_buffer_size or 0, 0)


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
    wrapper, values = wrapper_of(call.entry), call.variables()
    asked = _first_size(wrapper.sizes, values, target)
    if call.floating is not None:
        given = call.floating.scratch
        values["ctx.size"] = given if given != AS_ASKED else max(asked, 0) if asked is not None else None
    ways = _ways(wrapper, values, target)
    if not ways.ways:
        absent = ": ".join(filter(None, (f"not in CMSIS-NN {target.release}", wrapper.absent)))
        limits = wrapper.limits if wrapper.branches_for(target) else ()
        return Route(tried=ways.tried, reason=next(filter(None, (limit.failure(values) for limit in limits)), absent))
    met, open_ = _met(wrapper.entry, "", values, target)
    known = Route(
        buffer_size=asked,
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
    if call.floating is None:
        seen = {**seen, "ctx.size": known.buffer_size}
    started = known._replace(kernel=kernel, seen=seen, undecided=frozenset())
    taken = _run(started, wrapper.entry, kernel, seen, target)
    off = tuple(row for name in taken.chain for row in hazards_of(wrapper.entry, name, target) if row.kind == INEXACT)
    return taken._replace(
        used=_used(wrapper, taken, seen), inexact=tuple(row for row in off if row.meets(seen)) if off else ()
    )


def _used(wrapper: Wrapper, taken: Route, values: Values) -> int | None:
    """What the functions of a call take of the buffer that it hands over."""
    if wrapper.uses is None:
        return taken.buffer_size
    terms = [number for function, number in wrapper.uses if function in taken.chain]
    return 0 if not terms and taken.effective else terms[0].evaluate(values) if terms else None


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
        binds = dict(branch.binds)  # in terms of the caller's sizes
        tried += [(nested, tuple(part.substitute(binds) for part in failed)) for nested, failed in inner.tried]
        undecided |= branch.when.unknown(values) | inner.undecided
        if truth:
            break
    return _Ways(tuple(ways), tuple(tried), undecided)


def _behind(branch: Branch, values: Values, target: Target) -> _Ways:
    """Callee of one branch: its kernel, or the wrapper that chooses again."""
    seen = {**values, **{name: value.evaluate(values) for name, value in branch.binds}}
    inner = wrapper_for(branch.entry) if branch.entry else None
    return _ways(inner, seen, target) if inner else _Ways(((branch.kernel, seen),), (), frozenset())


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
    unknown = frozenset[str]().union(*(hazard.unknown(values) for hazard in open_ if hazard.kind == "returns-error"))
    if unknown:
        return known._replace(undecided=unknown)
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
        if truth is not False and not hazard.caller and hazard.kind != INEXACT:
            (met if truth else open_).append(hazard)
    if met:  # what a division by a size of 0 leaves open matters no more
        open_ = [hazard for hazard in open_ if hazard.unknown(values)]
    return tuple(met), tuple(open_)


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
