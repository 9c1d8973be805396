"""What the trace of a layer says: the tree of calls with names, the chain of kernels, the statuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.delegations import DELEGATIONS

if TYPE_CHECKING:
    from firmware_check.run import Call

_KERNEL = re.compile(
    r"arm_(convolve|depthwise_conv|transpose_conv|fully_connected|avgpool|max_pool|softmax|elementwise|concatenation|pad"
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


def observe(calls: dict[int, Call], names: dict[int, tuple[str, bool]], returning_status: frozenset[str]) -> Observed:
    """Name the functions of a trace. A function that both sources of the trace saw counts once."""
    tree: list[Traced] = []

    def descend(parent: int, depth: int, around: str) -> None:
        for number, call in calls.items():
            if call.parent != parent:
                continue
            name = _name(names, call.address)
            if name == around or "_get_buffer_size" in name:
                descend(number, depth, around)
                continue
            status = call.lowest if call.returns and name in returning_status else None
            tree.append(Traced(name, depth, call.calls, status))
            descend(number, depth + 1, name)

    descend(0, 0, "")
    chain = tuple(dict.fromkeys(t.name for t in tree if _KERNEL.match(t.name) and not _NO_KERNEL.search(t.name)))
    statics = [t.name for t in tree if t.name in _STATIC_KERNELS]
    return Observed(tuple(tree), chain, statics[-1] if statics else (chain[-1] if chain else ""))


def _name(names: dict[int, tuple[str, bool]], address: int) -> str:
    """Function at an address, without what the compiler appends to a clone's name."""
    name = names.get(address, (f"0x{address:08x}", False))[0]
    return name.split(".", 1)[0]
