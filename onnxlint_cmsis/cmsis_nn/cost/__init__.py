"""How many instructions a kernel call retires. Instructions, not cycles.

A prediction counts how often each loop of the kernel that a route ends in runs (`kernels.py` and the modules it
names) and multiplies with the instructions of one turn. Those were fitted to measurements of the real library by
`scripts/fit_cost.py`; `instructions/` has one file for each release and instruction set, with its provenance and error.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.depthwise import to_conv
from onnxlint_cmsis.cmsis_nn.cost.kernels import kernel_of
from onnxlint_cmsis.cmsis_nn.cost.sizes import Counts, add, sizes_of
from onnxlint_cmsis.cmsis_nn.cost.table import COMPILER, table_of
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.types import KernelCall, Target

__all__ = ["cost", "cost_of_route", "counts_of"]


def cost(call: KernelCall, target: Target) -> int | None:
    """Predicted instructions of one call, None where nothing was measured that says.

    None for: releases and compilers without measurements (CMSIS 5, armclang), s16 and s4, an unknown size, a call that
    returns an error, and kernels or ways through them that were not measured: grouped convolutions, dilated depthwise
    layers outside arm_depthwise_conv_s8_opt, transposed convolutions, fully connected layers with scales per channel,
    pooling of several images, average pooling with padding on scalar. Sizes beyond the measured ones only make
    measured loops run more often, so they are predicted.
    """
    return cost_of_route(call, target, route(call, target))


def cost_of_route(call: KernelCall, target: Target, taken: Route) -> int | None:
    """The same where the route of the call on the target is at hand."""
    table = table_of(target.release, target.isa) if target.compiler == COMPILER else None
    counts = counts_of(call, target, taken) if table else None
    if table is None or counts is None:
        return None
    total = 0.0
    for name, times in counts.items():
        if times:
            instructions = table.get(name)
            if instructions is None:
                return None
            total += times * instructions
    return round(total)


def counts_of(call: KernelCall, target: Target, taken: Route) -> Counts | None:
    """How often each piece of the call's kernel runs; None where that is not known."""
    sizes = sizes_of(call)
    kernel = kernel_of(taken.effective, target.isa, target.release)
    if sizes is None or kernel is None or taken.status != 0:
        return None
    counts: Counts = {f"via.{function}": 1 for function in taken.chain[:-1]}
    if call.entry == "depthwise_s8" and taken.kernel.startswith("arm_convolve"):
        sizes = sizes._replace(filter_c=sizes.in_c)
        add(counts, to_conv(sizes))
    if not kernel.covers(sizes):
        return None
    add(counts, kernel.loops(sizes, target.isa))
    return counts
