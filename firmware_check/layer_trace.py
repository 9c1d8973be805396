"""What the trace of a layer says: the tree of calls with names, the chain of kernels, the statuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from onnxlint_cmsis.cmsis_nn.delegations import DELEGATIONS, delegations_of
from onnxlint_cmsis.cmsis_nn.tables import wrapper_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from firmware_check.run import Call
    from onnxlint_cmsis.ground.types import KernelCall, Target


_KERNEL = re.compile(
    r"arm_(convolve|depthwise_conv|transpose|fully_connected|avgpool|max_pool|softmax|elementwise|concatenation|pad"
    r"|maximum|minimum|batch_matmul|lstm|svdf|depthwise_separable_conv|maxpool|avepool|relu)_"
)


_NO_KERNEL = re.compile(r"_get_|_wrapper_|_to_conv_")


_STATIC_KERNELS = frozenset(row.callee for row in DELEGATIONS if row.static)


@dataclass(frozen=True)
class Traced:
    """One function in the tree of what ran."""

    name: str
    """C function."""
    depth: int
    """0 for what the layer calls itself."""
    calls: int
    """How often it was called from there."""
    status: int | None
    """Worst status it returned; None where its result is none or was not seen."""


@dataclass(frozen=True)
class Observed:
    """What ran in a layer."""

    tree: tuple[Traced, ...]
    """Every function of CMSIS-NN in order of first call, callees after their callers."""
    chain: tuple[str, ...]
    """Public kernels in order of delegation."""
    effective: str
    """Static function inside the last kernel that does its work where the tables know one, else the last kernel."""


def observe(
    calls: dict[int, Call],
    names: dict[int, tuple[str, bool]],
    returning_status: frozenset[str],
    ways: tuple[Way, ...] = (),
) -> Observed:
    """Name the functions of a trace. A function that both sources of the trace saw counts once.

    Of functions for f32 and f16, `ways` are those through an entry point: the one whose functions all ran and whose
    last one lies deepest is the chain, since wrappers and kernels call each other there.
    """
    tree: list[Traced] = []
    static: set[str] = set()

    def descend(parent: int, depth: int, around: str) -> None:
        for number, call in calls.items():
            if call.parent != parent:
                continue
            symbol, public = names.get(call.address, (f"0x{call.address:08x}", False))
            name, dot, _ = symbol.partition(".")  # a clone has a suffix, and is static whatever it was made of
            if not public and not dot:
                static.add(name)
            if name == around or "_get_buffer_size" in name:
                descend(number, depth, around)
                continue
            status = call.lowest if call.returns and name in returning_status else None
            tree.append(Traced(name, depth, call.calls, status))
            descend(number, depth + 1, name)

    descend(0, 0, "")
    if ways:
        return _by_ways(tuple(tree), ways)
    kernels = (t.name for t in _without_weights(tree) if _KERNEL.match(t.name) and not _NO_KERNEL.search(t.name))
    chain = tuple(dict.fromkeys(name for name in kernels if name not in static))
    statics = [t.name for t in tree if t.name in _STATIC_KERNELS]
    return Observed(tuple(tree), chain, statics[-1] if statics else (chain[-1] if chain else ""))


class Way(NamedTuple):
    """Functions that a call may run through, from the kernel on."""

    chain: tuple[str, ...]
    """Kernels in order of delegation; regular expressions, as the tables have `arm_concatenation_f32_[wxyz]`."""
    inside: str = ""
    """Static function that does the work inside the last one, if any."""


def ways_of(call: KernelCall, target: Target) -> tuple[Way, ...]:
    """All ways through the entry point of a call for f32 or f16 in a build; none for integers."""
    if call.floating is None:
        return ()

    def behind(kernel: str) -> list[Way]:
        ways = [Way((kernel,))]
        for row in delegations_of(kernel, target.release, target.isa):
            inner = [Way((), row.callee)] if row.static else behind(row.callee)
            ways += [Way((kernel, *way.chain), way.inside) for way in inner]
        return ways

    branches = wrapper_of(call.entry).branches_for(target)
    return tuple(dict.fromkeys(way for branch in branches for way in behind(branch.kernel)))


def _by_ways(tree: tuple[Traced, ...], ways: tuple[Way, ...]) -> Observed:
    """What ran, by the way whose functions all ran and whose last one lies deepest; of several the longest."""
    best, deepest = Way(()), (-1, -1)
    for way in ways:
        ran = [[row for row in tree if re.fullmatch(name, row.name)] for name in (*way.chain, way.inside) if name]
        if all(ran):
            depth = max(row.depth for row in ran[-1]), len(ran)
            named = Way(tuple(rows[0].name for rows in ran[: len(way.chain)]), way.inside)
            best, deepest = max((best, deepest), (named, depth), key=lambda pair: pair[1])
    return Observed(tree, best.chain, best.inside or (best.chain[-1] if best.chain else ""))


def _without_weights(tree: list[Traced]) -> Iterator[Traced]:
    """All functions but the transpose of weights that another kernel calls for (arm_depthwise_conv_to_conv_s8)."""
    inside = 0
    for call in tree:
        inside = inside if inside and call.depth > inside else 0
        if not inside and call.name == "arm_transpose_s8":
            inside = call.depth
        if not inside:
            yield call
