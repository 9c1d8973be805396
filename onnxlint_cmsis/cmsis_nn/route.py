"""The kernel that a release picks for a call, why, and for which other sizes it picks the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.cmsis_nn.conditions import Condition, Term, Values, term
from onnxlint_cmsis.cmsis_nn.entry_points import (
    delegations,
    delegations_of,
    hazards,
    hazards_of,
    wrapper_for,
    wrapper_of,
)
from onnxlint_cmsis.cmsis_nn.releases import family_of
from onnxlint_cmsis.cmsis_nn.rows import INEXACT, Branch, Hazard, ScratchSize, Wrapper
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import AS_ASKED, KernelCall, Target

# What emulated devices showed of hazards and branches: the one place that says how a row is known.


FILE = Path(__file__).parent / "observations.json"
"""Recorded results of the firmware check's command `hazards`."""
CONFIRMED = "confirmed"
READ = "read in the source"
"""How every row is known, beside what devices showed."""


class HazardSeen(NamedTuple):
    """What one board showed of a hazard."""

    hazard: str
    """Its id."""
    outcome: str
    """`confirmed`, `not confirmed`, `cannot be built`, or `other code` where a compiler is given other code."""
    seen: str
    """What the call did, or why there is none."""
    call: str
    """The call, in a line."""


class BranchSeen(NamedTuple):
    """What one board showed of a branch of a wrapper."""

    branch: str
    """Wrapper, number, kernel."""
    inside: int
    """Calls that ran and are predicted to take it."""
    outside: int
    """Calls that ran and that one part of its condition keeps out."""
    unlike: tuple[str, ...]
    """Calls whose kernels, status or scratch were not as predicted, with what was."""


class Recorded(NamedTuple):
    """One run of a release on a board."""

    release: str
    """CMSIS-NN release."""
    cpu: str
    """CPU of the board."""
    compiler: str
    """With its version."""
    date: str
    """Day of the run."""
    hazards: tuple[HazardSeen, ...]
    """In the order of the tables."""
    branches: tuple[BranchSeen, ...]
    """Branches of the wrappers, in the order of the tables."""


def recorded_of(data: dict[str, Any]) -> Recorded:
    """One run from its JSON form."""
    hazards = tuple(HazardSeen(*row) for row in data["hazards"])
    branches = tuple(BranchSeen(row[0], row[1], row[2], tuple(row[3])) for row in data["branches"])
    return Recorded(data["release"], data["cpu"], data["compiler"], data["date"], hazards, branches)


@cache
def recorded() -> tuple[Recorded, ...]:
    """Every run, in the file's order."""
    return tuple(recorded_of(record) for record in json.loads(FILE.read_text(encoding="utf-8")))


def evidence(hazard: Hazard, release: str) -> str:
    """How a hazard is known for a release, in words: seen on a device there or elsewhere, read, reported upstream."""
    here = _cpus(hazard.id, release)
    others = [name for name in dict.fromkeys(run.release for run in recorded()) if _cpus(hazard.id, name)]
    if here:
        known = f"seen on an emulated {_listed(here)} with CMSIS-NN {release}"
    elif others:
        known = f"seen on an emulated {_listed(_cpus(hazard.id, others[-1]))} with CMSIS-NN {_listed(others)}"
        known += f"; {READ} for {release}"
    else:
        known = READ
    return f"{known}; reported upstream ({hazard.reported})" if hazard.reported else known


def _cpus(hazard: str, release: str) -> list[str]:
    """CPUs on which a hazard was seen in a release."""
    return [
        run.cpu.replace("cortex-m", "Cortex-M")
        for run in recorded()
        if run.release == release
        for row in run.hazards
        if (row.hazard, row.outcome) == (hazard, CONFIRMED)
    ]


def _listed(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# Route a call: the kernel that runs it, and its hazards. Pure: tables in, a Route out.


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
        absent = f"not in CMSIS-NN {target.release}: {wrapper.absent}"
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


# Calls that differ in their channel counts only, and which of them certainly take the same route.
# A route is decided by comparisons of the tables' terms. Calls for which every comparison that any row could ask about
# has the same truth have the same kernel, chain, status and hazards (buffer sizes differ). Working out the truths of
# many calls at once takes a fraction of routing each.


Numbers = NDArray[np.int64]

COMPARED = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


CHANNELS = frozenset(("input_dims.c", "filter_dims.n", "filter_dims.c", "output_dims.c", "ch_mult"))
"""Variables in which the calls may differ."""

MANY = 40
"""Truths put into one number at a time; an int64 holds them beside the number of a million calls."""


def route_classes(calls: KernelCall, targets: Sequence[Target], *, large: bool = False) -> tuple[Numbers, ...]:
    """For each target a number for each call, from 0 up; calls with the same number take the same route there.

    `calls` is a call whose channel counts are arrays of one length, at least one of them. `large` says that its
    products may exceed 64 bits; OverflowError where one may.
    """
    values = calls.variables()
    known = {name: np.asarray(size, dtype=np.int64) for name, size in values.items() if size is not None}
    applied = {**APPLIED, "*": _bounded_product} if large else APPLIED
    if large and any(_largest(size) >= BEYOND for size in known.values()):
        raise OverflowError
    moving = frozenset(name for name in CHANNELS & known.keys() if known[name].ndim)
    length = next(known[name].size for name in moving)
    asked = [
        [condition for condition, names in comparisons(calls.entry, target) if moving & names and names <= known.keys()]
        for target in targets
    ]
    truths: dict[int, NDArray[np.bool_] | None] = {}  # by identity: targets share the rows' own conditions
    for condition in chain(*asked):
        if id(condition) not in truths:
            left, right = (_numbers(side, known, applied) for side in condition.terms)
            truth: NDArray[np.bool_] = COMPARED[condition.op](left, right)
            truths[id(condition)] = truth if truth.any() and not truth.all() else None
    return tuple(_numbered([truths[id(condition)] for condition in row], length) for row in asked)


def _numbered(truths: Sequence[NDArray[np.bool_] | None], length: int) -> Numbers:
    """A number for each of the calls, the same for calls of which all the same is true; None is true of all or none."""
    differing = list({truth.tobytes(): truth for truth in truths if truth is not None}.values())
    numbers = np.zeros(length, dtype=np.int64)
    for first in range(0, len(differing), MANY):
        for truth in differing[first : first + MANY]:
            numbers = 2 * numbers + truth
        _, numbers = np.unique(numbers, return_inverse=True)
    return numbers


@cache
def comparisons(entry: str, target: Target) -> tuple[tuple[Condition, frozenset[str]], ...]:
    """Every comparison of channel counts that routing a call of the entry point could ask for, with what it reads.

    All in terms of the call's own variables.
    """
    wrapper = wrapper_of(entry)
    sizes = [size for size in wrapper.sizes if size.origin.covers(target)]
    rows = [row for row in hazards(family_of(entry)) if entry in row.entries and row.origin.covers(target)]
    conditions = [
        *(branch.when for branch in _branches(wrapper, target)),
        *(row.when for row in delegations(family_of(entry)) if row.origin.spans(target.release)),
        *(condition for row in rows for condition in (row.when, row.unsized) if condition),
        *(size.when for size in sizes),
    ]
    scratch = [term(-1), term(0), *(size.size for size in sizes)]
    seen = [{}, *(dict(branch.binds) for branch in _branches(wrapper, target) if branch.binds)]
    parts = [part for condition in conditions for part in _parts(condition)]
    kept: dict[Condition, None] = {}
    for binds in seen:
        moving = CHANNELS | {"ctx.size"} | {name for name, value in binds.items() if value.reads(CHANNELS)}
        for part in parts:
            if not any(side.reads(moving) for side in part.terms):
                continue
            bound = part.substitute(binds) if binds else part
            sized = any(side.reads({"ctx.size"}) for side in part.terms)
            kept |= dict.fromkeys(bound.substitute({"ctx.size": size}) for size in scratch) if sized else {bound: None}
    return tuple((comparison, comparison.names()) for comparison in kept)


def _branches(wrapper: Wrapper, target: Target) -> Iterator[Branch]:
    """Branches of a wrapper and of the wrappers that it calls."""
    for branch in wrapper.branches_for(target):
        yield branch
        inner = wrapper_for(branch.entry) if branch.entry else None
        if inner is not None:
            yield from _branches(inner, target)


def _parts(condition: Condition) -> Iterator[Condition]:
    if condition.terms:
        yield condition
    for part in condition.parts:
        yield from _parts(part)


def _numbers(value: Term, known: Mapping[str, Numbers], applied: Mapping[str, Applied]) -> Numbers:
    """The term for every call at once; a division by zero, which C leaves undefined, gives a separate marker value."""
    if value.op == "var":
        return known[value.name]
    if value.op == "int":
        return np.array(value.value, dtype=np.int64)
    left = _numbers(value.parts[0], known, applied)
    return left if value.op == "name" else applied[value.op](left, _numbers(value.parts[1], known, applied))


def _quotient(left: Numbers, right: Numbers) -> Numbers:
    """Division as in C: truncated towards zero."""
    if not right.ndim and right > 0 and left.size and left.min() >= 0:
        return left // right
    divisor = np.where(right == 0, 1, right)
    whole: Numbers = np.sign(left) * np.sign(divisor) * (np.abs(left) // np.abs(divisor))
    return np.where(right == 0, UNDEFINED, whole)


def _remainder(left: Numbers, right: Numbers) -> Numbers:
    """`%` as in C: the sign of the dividend."""
    if not right.ndim and right > 0 and left.size and left.min() >= 0:
        return left % right
    return np.where(right == 0, UNDEFINED, left - _quotient(left, right) * right)


BEYOND = 2.0**60
"""Numbers from here on may exceed 64 bits once they are added."""


def _largest(numbers: Numbers) -> float:
    return float(np.abs(numbers.astype(np.float64)).max(initial=0.0))


def _bounded_product(left: Numbers, right: Numbers) -> Numbers:
    """The product; OverflowError where the largest factors together may exceed what is exact."""
    if _largest(left) * _largest(right) >= BEYOND:
        raise OverflowError
    return left * right


UNDEFINED = -(2**40)
"""Stands for what C leaves undefined."""

Applied = Callable[[Numbers, Numbers], Numbers]
APPLIED: dict[str, Applied] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _quotient,
    "%": _remainder,
    "max": np.maximum,
    "min": np.minimum,
}
