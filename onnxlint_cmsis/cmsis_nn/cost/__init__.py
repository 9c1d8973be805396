"""How many instructions a kernel call retires. Instructions, not cycles.

A prediction counts how often each loop of the kernel that a route ends in runs (`kernels.py` and the modules it
names) and multiplies with the instructions of one turn. Those were fitted to measurements of the real library by
`scripts/fit_cost.py`; `instructions/` has one file for each release and instruction set, with its provenance and error.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.cost.bias_cost import without_bias
from onnxlint_cmsis.cmsis_nn.cost.depthwise_cost import to_conv
from onnxlint_cmsis.cmsis_nn.cost.kernels import MEASURED, REVERSED, kernel_of
from onnxlint_cmsis.cmsis_nn.cost.measured import table_for
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, add, sizes_of
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import KernelCall, Target

UNDECIDED = 0.02
"""Largest share of a prediction that measurements of one image or row leave open for several."""

__all__ = ["Prediction", "cost", "cost_of_route", "counts_of", "predicted"]


def cost(call: KernelCall, target: Target) -> int | None:
    """Predicted instructions of one call, None where nothing was measured that says.

    None for: releases and compilers without measurements (CMSIS 5, armclang; s16, s4 and transposed convolutions before
    7.0.0), an unknown size, a call that returns an error, and kernels or ways through them that were not measured:
    grouped convolutions, dilated depthwise layers of s8 outside arm_depthwise_conv_s8_opt, fully connected layers
    whose weights have a zero-point, s8 pooling of several images, s8 average pooling with padding on scalar, several
    images or rows that are so small that it matters what runs once for each and what once for all.
    LoopSizes beyond the measured ones only make measured loops run more often, so they are predicted.
    """
    return cost_of_route(call, target, route(call, target))


def cost_of_route(call: KernelCall, target: Target, taken: Route) -> int | None:
    """The same where the route of the call on the target is at hand."""
    found = predicted(call, target, taken)
    return round(found.instructions) if found.known else None


class Prediction(NamedTuple):
    """What the loops of a call add up to; arrays for a call whose channel counts are arrays."""

    instructions: float
    """Predicted instructions, not rounded; without meaning where they are not known."""
    known: bool
    """Whether everything that runs was measured."""


def predicted(call: KernelCall, target: Target, taken: Route) -> Prediction:
    """Instructions of one call, or of many calls at once that take the same route.

    A call stands for many where its channel counts are arrays of int64 of one length; no count may then be above 2^63.
    """
    table = table_for(target, taken.effective)
    counted = _counted(call, target, taken) if table else None
    if table is None or counted is None:
        return Prediction(0.0, False)
    total, known = 0.0, counted.covered
    for name, times in counted.counts.items():
        instructions = table.get(name)
        if instructions is None:
            known = known & (times == 0)
        else:
            total = total + times * instructions
    return Prediction(total, known & (_undecided(counted, table) <= UNDECIDED * total))


def _undecided(counted: _Counted, table: Mapping[str, float]) -> float:
    """Instructions of pieces that run once for one image: for several, once in all or once for each is not known."""
    once = sum(table.get(name, 0.0) * (times == 1) for name, times in counted.of_one.items())
    return once * (counted.images - 1)


def counts_of(call: KernelCall, target: Target, taken: Route) -> Counts | None:
    """How often each piece of the call's kernel runs; None where that is not known."""
    counted = _counted(call, target, taken)
    return counted.counts if counted and counted.covered else None


class _Counted(NamedTuple):
    """How often each piece of a kernel runs, and whether the call stays on the code that was measured."""

    counts: Counts
    covered: bool
    images: int
    """Images, or rows of a fully connected layer."""
    of_one: Counts
    """Counts for one of them; empty where there is no more, or where several were measured."""


def _counted(call: KernelCall, target: Target, taken: Route) -> _Counted | None:
    """None where a size is unknown, or the loops of what the route ends in."""
    sizes = sizes_of(call)
    reversed_ = call.entry == "transpose_conv_s8" and taken.effective == "arm_convolve_s8"
    kernel = kernel_of(REVERSED if reversed_ else taken.effective, target.isa, target.release)
    if sizes is None or kernel is None or taken.status != 0:
        return None
    if taken.effective == "arm_transpose_conv_s8" and not call.bias:  # it clears its buffer in another way
        return None
    if call.weight_offset:  # measured with weights of zero-point 0; others took 4 to 29 % more (7.0.0)
        return None
    counts: Counts = {f"via.{function}": 1 for function in taken.chain[:-1]}
    if call.entry == "depthwise_s8" and taken.kernel.startswith("arm_convolve"):
        sizes = sizes._replace(filter_c=sizes.in_c)
        add(counts, to_conv(sizes))
    covered = kernel.covers(sizes)
    of_one: Counts = {}
    if covered is not False:
        if sizes.n > 1 and not kernel.several:
            of_one = counts | kernel.loops(sizes._replace(n=1), target.isa)
        add(counts, kernel.loops(sizes, target.isa))
        if not call.bias and holds(MEASURED, "", target.release):
            add(counts, without_bias(taken.effective, sizes, target.isa))
    return _Counted(counts, covered, sizes.n, of_one)
