"""Calls that differ in their channel counts only, and which of them certainly take the same route.

A route is decided by comparisons of the tables' terms. Calls for which every comparison that any row could ask about
has the same truth have the same kernel, chain, status and hazards (buffer sizes differ). Working out the truths of
many calls at once takes a fraction of routing each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.cmsis_nn.apis import api_of
from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.delegations import delegations
from onnxlint_cmsis.cmsis_nn.rows import Branch, Wrapper
from onnxlint_cmsis.cmsis_nn.tables import hazards, wrapper_for, wrapper_of
from onnxlint_cmsis.cmsis_nn.terms import Term, term
from onnxlint_cmsis.ground.types import KernelCall, Target

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
    asked = [_asked(calls.entry, target, moving, frozenset(known)) for target in targets]
    truths: dict[int, NDArray[np.bool_] | None] = {}  # by identity: targets share the rows' own conditions
    numbers: dict[int, Numbers] = {}  # conditions share terms
    for condition in chain(*asked):
        if id(condition) not in truths:
            left, right = (_evaluated(side, known, applied, numbers) for side in condition.terms)
            truth: NDArray[np.bool_] = COMPARED[condition.op](left, right)
            truths[id(condition)] = truth if 0 < np.count_nonzero(truth) < truth.size else None
    return tuple(_numbered([truths[id(condition)] for condition in row], length) for row in asked)


def _numbered(truths: Sequence[NDArray[np.bool_] | None], length: int) -> Numbers:
    """A number for each of the calls, the same for calls of which all the same is true; None is true of all or none."""
    differing = list({truth.tobytes(): truth for truth in truths if truth is not None}.values())
    if len(differing) == 1:
        return differing[0].astype(np.int64)
    numbers = np.zeros(length, dtype=np.int64)
    for first in range(0, len(differing), MANY):
        for truth in differing[first : first + MANY]:
            numbers = 2 * numbers + truth
        _, numbers = np.unique(numbers, return_inverse=True)
    return numbers


@cache
def _asked(entry: str, target: Target, moving: frozenset[str], known: frozenset[str]) -> tuple[Condition, ...]:
    """The comparisons of a call with these variables that some of the moving ones decide."""
    return tuple(part for part, names in comparisons(entry, target) if moving & names and names <= known)


@cache
def comparisons(entry: str, target: Target) -> tuple[tuple[Condition, frozenset[str]], ...]:
    """Every comparison of channel counts that routing a call of the entry point could ask for, with what it reads.

    All in terms of the call's own variables.
    """
    wrapper = wrapper_of(entry)
    sizes = [size for size in wrapper.sizes if size.origin.covers(target)]
    rows = [row for row in hazards(api_of(entry)) if entry in row.entries and row.origin.covers(target)]
    conditions = [
        *(branch.when for branch in _branches(wrapper, target)),
        *(row.when for row in delegations(api_of(entry)) if row.origin.spans(target.release)),
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


def _evaluated(
    value: Term, known: Mapping[str, Numbers], applied: Mapping[str, Applied], done: dict[int, Numbers]
) -> Numbers:
    """The term for every call at once; a division by zero, which C leaves undefined, gives a separate marker value.

    `done` has the terms that were met before, by identity.
    """
    if value.op == "var":
        return known[value.name]
    if id(value) not in done:
        if value.op == "int":
            numbers = np.array(value.value, dtype=np.int64)
        else:
            sides = [_evaluated(part, known, applied, done) for part in value.parts]
            numbers = sides[0] if value.op == "name" else applied[value.op](*sides)
        done[id(value)] = numbers
    return done[id(value)]


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
