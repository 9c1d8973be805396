"""How many instructions a kernel call retires. Instructions, not cycles.

A prediction counts how often each loop of the kernel that a route ends in runs (`kernel_loops.py`)
and multiplies with the instructions of one turn. Those were fitted to measurements of the real library by
`lab/fit_cost.py`; `instructions/` has one file for each release and instruction set, with its provenance and error.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.compilers import MeasuredCompiler, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost_records import ALIGNED, float_build, integer_build, table_for
from onnxlint_cmsis.cmsis_nn.data_ranges import data_range
from onnxlint_cmsis.cmsis_nn.kernel_loops import MEASURED, REVERSED, kernel_of
from onnxlint_cmsis.cmsis_nn.loops.sizes import SHORT, Counts, add, sizes_of
from onnxlint_cmsis.cmsis_nn.loops.without_bias import without_bias
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, Isa, KernelCall, Target

UNDECIDED = 0.02
"""Largest share of a prediction that measurements of one image or row leave open for several."""
MOST_INSTRUCTIONS = 2.0**50
"""Instructions above which a cost counts as unknown: a core at 1 GHz runs 13 days for them, and the sum over 8,000
layers still fits int64."""

__all__ = [
    "CallCost", "Prediction", "call_cost", "cost", "cost_of_route", "counts_of", "instructions_range", "predicted",
]  # fmt: skip


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
    """Predicted instructions of one call whose route on the target is known; None as in `cost`."""
    prediction = predicted(call, target, taken)
    return round(prediction.instructions) if prediction.known else None


SAME = 0.03
"""Share of the most by which compilers may differ, so that one number speaks for all of them."""


Ends = tuple[int, int]
"""Least and most instructions; equal where one number holds."""


class CallCost(NamedTuple):
    """What one call takes over the data and the compilers that a target may mean."""

    instructions: int | None
    """Number of the first compiler, as `cost` has it."""
    ends: Ends | None
    """Least and most; None where one number holds, and where nothing was measured."""
    by_compiler: tuple[Ends, ...]
    """The same with each compiler, in their order; none where nothing was measured."""


def call_cost(call: KernelCall, target: Target, taken: Route) -> CallCost:
    """What one call takes with each compiler. One that was not measured with this kernel has the first one's ends."""
    rows = measured_compilers(target)
    by_data = [data_range(call, target, taken, row) for row in rows]
    # The data decide on both ends where they decide; of the first compiler the number is told as well.
    numbers = [
        predicted(call, target, taken, row) if row is rows[0] or ends is None else None
        for ends, row in zip(by_data, rows, strict=True)
    ]
    known = [round(number.instructions) if number and number.known else None for number in numbers]
    alone = [None if number is None else (number, number) for number in known]
    own = [ends or number for ends, number in zip(by_data, alone, strict=True)]
    first = next(filter(None, own), None)
    if first is None:
        return CallCost(None, None, ())
    by_compiler = tuple(ends or first for ends in own)
    least, most = min(end for end, _ in by_compiler), max(end for _, end in by_compiler)
    return CallCost(known[0], (least, most) if any(by_data) or most - least > SAME * most else None, by_compiler)


def instructions_range(call: KernelCall, target: Target, taken: Route) -> Ends | None:
    """Least and most instructions of one call; None as in `CallCost`."""
    return call_cost(call, target, taken).ends


class Prediction(NamedTuple):
    """What the loops of a call add up to; arrays for a call whose channel counts are arrays."""

    instructions: float
    """Predicted instructions, not rounded; without meaning where they are not known."""
    known: bool
    """Whether everything that runs was measured."""


def predicted(call: KernelCall, target: Target, taken: Route, compiler: MeasuredCompiler | None = None) -> Prediction:
    """Instructions of one call, or of many calls at once that take the same route.

    A call stands for many where its channel counts are arrays of int64 of one length; no count may then be above 2^63.
    Without `compiler` they are those of the first measured one that speaks for the target's.
    """
    table = table_for(target, taken.effective, compiler, floats=call.floating is not None)
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
    # Of a piece that runs once for one image it is not known whether it runs once for each of several.
    once = sum(table.get(name, 0.0) * (times == 1) for name, times in counted.of_one.items())
    settled = once * (counted.images - 1) <= UNDECIDED * total
    return Prediction(total, known & settled & (total < MOST_INSTRUCTIONS))


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
    """None where a size is unknown, or the loops of the last kernel of the route."""
    if call.floating is not None:
        from onnxlint_cmsis.cmsis_nn.float.loops import float_counts

        floats = float_counts(call, float_build(target), taken)
        return None if floats is None else _Counted(floats, True, 1, {})
    sizes = sizes_of(call, aligned=integer_build(target).cpu in ALIGNED)
    reversed_ = call.entry == "transpose_conv_s8" and taken.effective == "arm_convolve_s8"
    kernel = kernel_of(REVERSED if reversed_ else taken.effective, target.isa, target.release)
    if sizes is None or kernel is None or taken.status != 0:
        return None
    if taken.effective == "arm_transpose_conv_s8" and not call.bias:  # it clears its buffer in another way
        return None
    if call.function == Function.LSTM and call.initial_state is not False and target.release == "main":
        return None  # the first step then has a hidden state to multiply, which was not measured
    offset = call.weight_offset and call.function is not Function.BATCH_MATMUL
    if offset or (call.int32_bias and target.isa is Isa.MVE):
        return None  # measured without an offset, which takes 4 to 29 % (7.0.0), and with biases of 64 bits
    counts: Counts = {f"via.{function}": 1 for function in taken.chain[:-1]}
    if call.entry == "depthwise_s8" and taken.kernel.startswith("arm_convolve"):
        from onnxlint_cmsis.cmsis_nn.loops.depthwise_s8 import to_conv

        sizes = sizes._replace(filter_c=sizes.in_c)
        add(counts, to_conv(sizes))
    covered = kernel.covers(sizes)
    if call.int32_bias:
        covered = covered & (sizes.depth <= SHORT)
    of_one: Counts = {}
    if covered is not False:
        if sizes.n > 1 and not kernel.several:
            of_one = counts | kernel.counts(sizes._replace(n=1), target.isa)
        add(counts, kernel.counts(sizes, target.isa))
        if not call.bias and holds(MEASURED, "", target.release):
            add(counts, without_bias(taken.effective, sizes, target.isa))
    return _Counted(counts, covered, sizes.n, of_one)
