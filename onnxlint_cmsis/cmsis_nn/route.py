"""Which kernel a call ends in, and what is known against it. Pure: tables in, a Route out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.delegations import delegations_of
from onnxlint_cmsis.cmsis_nn.hazards import hazards_of
from onnxlint_cmsis.cmsis_nn.routes import wrapper_for
from onnxlint_cmsis.cmsis_nn.rows import Branch, Hazard, Size, Wrapper
from onnxlint_cmsis.types import KernelCall, Target

Known = Mapping[str, int | None]


@dataclass(frozen=True)
class Route:
    """What a call does on a target."""

    kernel: str = ""
    """C function the wrapper calls; empty where none can be named, with `reason` or `undecided` saying why."""
    chain: tuple[str, ...] = ()
    """Every public kernel in order of delegation, `kernel` first."""
    effective: str = ""
    """Function that does the work: the last of the chain, or the static function inside it."""
    status: int | None = None
    """Status returned, 0 for success; None where it is undecided or the call returns none."""
    buffer_size: int | None = None
    """Scratch bytes the size function answers; None where undecided, -1 where there is no such function."""
    reverse_buffer_size: int | None = -1
    """Bytes of the second context of a transposed convolution; -1 where the entry point has none."""
    hazards: tuple[Hazard, ...] = ()
    """What is known against the call, certain rows only."""
    tried: tuple[tuple[Branch, tuple[Condition, ...]], ...] = ()
    """Each branch tried in order with the conditions that kept it from being taken; the last is the one taken."""
    undecided: frozenset[str] = frozenset()
    """Variables that were needed and unknown."""
    candidates: tuple[str, ...] = ()
    """Kernels still possible where sizes are unknown; one where decided."""
    reason: str = ""
    """Why there is no kernel."""


@dataclass(frozen=True)
class _Choice:
    """The branch a wrapper takes and the values its callee sees."""

    taken: Branch | None
    tried: tuple[tuple[Branch, tuple[Condition, ...]], ...]
    candidates: tuple[str, ...]
    undecided: frozenset[str]
    values: Known


def route(call: KernelCall, target: Target) -> Route:
    """Route one call; sizes that are None are unknown and left undecided.

    Raises:
        ValueError: the entry point has no wrapper.

    """
    wrapper = wrapper_for(call.entry)
    if wrapper is None:
        raise ValueError(f"'{call.entry}' is not an entry point that chooses between kernels")
    return route_values(wrapper, call.variables(), target)


def route_values(wrapper: Wrapper, values: Known, target: Target) -> Route:
    """Route a call given as CMSIS-NN's names and numbers."""
    choice = _choose(wrapper, values, target)
    if not choice.tried:
        return Route(reason=f"{wrapper.function} is not in CMSIS-NN {target.release}: {wrapper.absent}")
    sized = Route(
        buffer_size=_first_size(wrapper.sizes, values, target),
        reverse_buffer_size=_first_size(wrapper.reverse_sizes, values, target) if wrapper.reverse_sizes else -1,
        tried=choice.tried,
        undecided=choice.undecided,
        candidates=choice.candidates,
    )
    if choice.taken is None:
        reason = "" if choice.undecided else f"{wrapper.function} in CMSIS-NN {target.release}: {wrapper.absent}"
        return replace(sized, reason=reason)
    return _run(wrapper.entry, choice, sized, target)


def _choose(wrapper: Wrapper, values: Known, target: Target) -> _Choice:
    """Walk the else-if chain. An undecided branch leaves the call decided only if every way out is the same kernel."""
    tried: list[tuple[Branch, tuple[Condition, ...]]] = []
    possible: list[_Choice] = []
    undecided: frozenset[str] = frozenset()
    for branch in wrapper.branches_for(target):
        truth = branch.when.evaluate(values)
        tried.append((branch, branch.when.failures(values)))
        if truth is False:
            continue
        undecided |= branch.when.unknown(values)
        possible.append(_follow(branch, values, target))
        if truth:
            break
    for way in possible:
        undecided |= way.undecided
    kernels = tuple(dict.fromkeys(kernel for way in possible for kernel in way.candidates))
    taken = possible[-1].taken if len(kernels) == 1 and possible else None
    nested = tuple(step for way in possible[-1:] for step in way.tried)
    final = possible[-1].values if possible else values
    return _Choice(taken, (*tried, *nested), kernels, frozenset() if taken and len(possible) == 1 else undecided, final)


def _follow(branch: Branch, values: Known, target: Target) -> _Choice:
    """The kernel behind one branch: its own, or what the wrapper it calls chooses."""
    bound = {**values, **{name: value.evaluate(values) for name, value in branch.binds}}
    inner = wrapper_for(branch.entry) if branch.entry else None
    if inner is None:
        return _Choice(branch, (), (branch.kernel,), frozenset(), bound)
    return _choose(inner, bound, target)


def _run(entry: str, choice: _Choice, sized: Route, target: Target) -> Route:
    """Follow the delegations, collecting hazards; a kernel that returns an error ends the call."""
    assert choice.taken is not None
    values = {**choice.values, "ctx.size": sized.buffer_size}
    kernel = choice.taken.kernel
    chain, found, undecided = [kernel], list(_met(entry, "", values, target)), set(sized.undecided)
    static = ""
    status: int | None = 0
    while True:
        met = _met(entry, kernel, values, target)
        errors = [hazard for hazard in met if hazard.kind == "error"]
        found += [hazard for hazard in met if not errors or hazard.kind in ("error", "narrow")]
        if errors:
            status = errors[0].status
            break
        callee, missing, is_static = _next(kernel, values, target)
        undecided |= missing
        if is_static:
            static = callee
        if is_static or not callee:
            break
        kernel = callee
        chain.append(kernel)
    if undecided:
        status = status or None
    return replace(
        sized,
        kernel=chain[0],
        chain=tuple(chain),
        effective="" if undecided - sized.undecided else static or kernel,
        status=status,
        hazards=tuple(found),
        undecided=frozenset(undecided),
    )


def _next(kernel: str, values: Known, target: Target) -> tuple[str, frozenset[str], bool]:
    """Whom a kernel hands the work to, the variables that leave it open, and whether that is a static function."""
    for row in delegations_of(kernel, target.release, target.isa):
        truth = row.when.evaluate(values)
        if truth:
            return row.callee, frozenset(), row.static
        if truth is None:
            return "", row.when.unknown(values), False
    return "", frozenset(), False


def _met(entry: str, kernel: str, values: Known, target: Target) -> list[Hazard]:
    return [hazard for hazard in hazards_of(entry, kernel, target) if hazard.when.evaluate(values)]


def _first_size(sizes: tuple[Size, ...], values: Known, target: Target) -> int | None:
    for case in sizes:
        if not case.origin.covers(target):
            continue
        truth = case.when.evaluate(values)
        if truth is None:
            return None
        if truth:
            return case.size.evaluate(values)
    return -1
