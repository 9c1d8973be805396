"""How many instructions a kernel call retires. Instructions, not cycles.

A prediction counts how often each loop of the kernel that a route ends in runs (`KERNELS` and the modules it names)
and multiplies with the instructions of one turn. Those were fitted to measurements of the real library by
`lab/fit_cost.py`; `instructions/` has one file for each release and instruction set, with its provenance and error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import ceil, prod

from onnxlint_cmsis.cmsis_nn.compilers import MeasuredCompiler, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost_records import ALIGNED, COMPILER, data_range, float_build, integer_build, table_for
from onnxlint_cmsis.cmsis_nn.float.loops import float_counts
from onnxlint_cmsis.cmsis_nn.integer import convolution, dense, depthwise, others, transposed
from onnxlint_cmsis.cmsis_nn.integer.depthwise import to_conv
from onnxlint_cmsis.cmsis_nn.loops import Counts, LoopSizes, add, sizes_of, without_bias
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, Isa, KernelCall, Target

# Which loops a kernel has: one row for each kernel, instruction set and run of releases.


Loops = Callable[[LoopSizes, Isa], Counts]
"""Counts how often the loops of a kernel run."""


def _any(_: LoopSizes) -> bool:
    return True


def _dense(sizes: LoopSizes) -> bool:
    """Grouped convolutions run another product."""
    return sizes.filter_c == sizes.in_c


def _ordered(sizes: LoopSizes) -> bool:
    """The permutation decides which loop runs. No loop was measured with a repeated axis."""
    return len(sizes.permutation) > 1 and sorted(sizes.permutation) == [*range(len(sizes.permutation))]


def _undilated(sizes: LoopSizes) -> bool:
    """arm_depthwise_conv_s8 finds the taps of a dilated window with divisions."""
    return sizes.dilation_h == sizes.dilation_w == 1


def _touching(sizes: LoopSizes) -> bool:
    """Maximum pooling copies the first tap of a window: there has to be one."""
    below, beside = (sizes.out_h - 1) * sizes.stride_h - sizes.pad_h, (sizes.out_w - 1) * sizes.stride_w - sizes.pad_w
    touches = sizes.pad_h < sizes.filter_h and sizes.pad_w < sizes.filter_w
    return touches and below < sizes.in_h and beside < sizes.in_w


def _one_image(sizes: LoopSizes) -> bool:
    """Pooling goes over the images from 6.0.0 on only."""
    return sizes.n == 1 and _touching(sizes)


def _one_unpadded_image(sizes: LoopSizes) -> bool:
    """arm_avgpool_s8 on scalar looks at every tap and skips those in the padding."""
    return sizes.n == 1 and sizes.plane.inside == sizes.pixels * sizes.taps


def _rows(sizes: LoopSizes) -> bool:
    """arm_softmax_s8 works on rows: the layer has no plane. Rows of one value take up to a quarter less."""
    return sizes.in_h == sizes.in_w == 1 and sizes.in_c > 1


class Kernel(NamedTuple):
    """The loops of one function that does the work of a layer."""

    effective: str
    """C function, as a route names it."""
    loops: Loops
    """How often they run."""
    isas: tuple[Isa, ...] = ALL_ISAS
    """Instruction sets it has them on."""
    since: str = "4.0.0"
    """First release it has them in."""
    until: str = ""
    """First release it does not have them in; empty where the newest has them."""
    covers: Callable[[LoopSizes], bool] = _any
    """Whether a call stays on the code that was measured."""
    several: bool = False
    """Whether several images or rows were measured as well, or are one loop; if not, the work per call and the work per
    image cannot be told apart."""


REVERSED = "arm_transpose_conv_wrapper_s8"
"""What stands here for arm_convolve_s8 with reversed weights."""
MEASURED = "7.0.0"
"""First release in which the kernels were measured that came last into this table."""

KERNELS = (
    Kernel("arm_convolve_1x1_s8_fast", convolution.convolve_1x1_s8_fast, covers=_dense),
    Kernel("arm_convolve_1x1_s8", convolution.convolve_1x1_s8, covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8_widening_taps, NOT_MVE, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8_core_4x, MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8, NOT_MVE, since="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8, MVE_ONLY, since="4.1.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", convolution.fours, MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", convolution.single_columns, MVE_ONLY, since="4.1.0", until="6.0.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", convolution.strips, MVE_ONLY, since="6.0.0", covers=_dense),
    Kernel("arm_depthwise_conv_3x3_s8", depthwise.conv_3x3_s8, NOT_MVE),
    Kernel("arm_depthwise_conv_s8_opt", depthwise.s8_opt, (Isa.DSP, Isa.MVE)),
    Kernel("depthwise_conv_s8_mult_4", depthwise.s8_mult_4),
    Kernel("depthwise_conv_s8_generic", depthwise.s8_generic, covers=_undilated),
    Kernel("arm_fully_connected_s8", dense.fully_connected_s8, NOT_MVE),
    Kernel("arm_fully_connected_s8", dense.by_three, MVE_ONLY, until="5.0.0"),
    Kernel("arm_fully_connected_s8", dense.fully_connected_s8, MVE_ONLY, since="5.0.0"),
    Kernel("arm_avgpool_s8", others.avgpool_s8, (Isa.DSP, Isa.MVE), covers=_one_image),
    Kernel("arm_avgpool_s8", others.avgpool_s8, (Isa.SCALAR,), covers=_one_unpadded_image),
    Kernel("arm_max_pool_s8", others.max_pool_s8, covers=_one_image),
    Kernel("arm_elementwise_add_s8", partial(others.elementwise_s8, "add"), several=True),
    Kernel("arm_elementwise_mul_s8", partial(others.elementwise_s8, "mul"), several=True),
    Kernel("arm_softmax_s8", others.softmax_s8, covers=_rows, several=True),
    Kernel(REVERSED, transposed.reversed_convolution, since=MEASURED, several=True),
    Kernel("arm_transpose_conv_s8", transposed.direct_by_strides, since=MEASURED, until="main", several=True),
    Kernel("arm_transpose_conv_s8", transposed.direct, since="main", several=True),
    Kernel("arm_pad_s8", others.pad_s8, since=MEASURED, several=True),
    Kernel("arm_transpose_s8", others.transpose_s8, since=MEASURED, covers=_ordered, several=True),
    Kernel("arm_maximum_s8", partial(others.extreme_s8, "maximum"), since=MEASURED, several=True),
    Kernel("arm_minimum_s8", partial(others.extreme_s8, "minimum"), since=MEASURED, several=True),
    Kernel("arm_fully_connected_per_channel_s8", dense.per_channel_s8, since=MEASURED, several=True),
    Kernel("arm_convolve_s16", convolution.convolve_s16, since=MEASURED, several=True, covers=_dense),
    Kernel("arm_depthwise_conv_s16", depthwise.s16_generic, since=MEASURED, several=True),
    Kernel("arm_depthwise_conv_fast_s16", depthwise.s16_fast, (Isa.DSP, Isa.MVE), since=MEASURED, several=True),
    Kernel("arm_fully_connected_s16", others.fully_connected_s16, since=MEASURED, several=True),
    Kernel("arm_avgpool_s16", others.avgpool_s16, since=MEASURED, covers=_touching, several=True),
    Kernel("arm_max_pool_s16", others.max_pool_s16, since=MEASURED, covers=_touching, several=True),
    Kernel("arm_elementwise_add_s16", partial(others.elementwise_s16, "add_s16"), since=MEASURED, several=True),
    Kernel("arm_elementwise_mul_s16", partial(others.elementwise_s16, "mul_s16"), since=MEASURED, several=True),
    Kernel("arm_convolve_1x1_s4_fast", convolution.convolve_1x1_s4_fast, since=MEASURED, several=True, covers=_dense),
    Kernel("arm_convolve_1x1_s4", convolution.convolve_1x1_s4, since=MEASURED, several=True, covers=_dense),
    Kernel(
        "arm_convolve_1_x_n_s4", convolution.convolve_1_x_n_s4, MVE_ONLY, since=MEASURED, several=True, covers=_dense
    ),
    Kernel("arm_convolve_even_s4", convolution.convolve_even_s4, MVE_ONLY, since=MEASURED, several=True, covers=_dense),
    Kernel("arm_convolve_s4", convolution.convolve_s4, since=MEASURED, several=True, covers=_dense),
    Kernel("arm_depthwise_conv_s4", depthwise.s4_generic, since=MEASURED, several=True),
    Kernel("arm_depthwise_conv_s4_opt", depthwise.s4_opt, since=MEASURED, several=True),
    Kernel("arm_fully_connected_s4", convolution.fully_connected_s4, since=MEASURED, several=True),
    Kernel("arm_lstm_unidirectional_s8", dense.lstm_s8, since="6.0.0", until="main", several=True),
    Kernel("arm_lstm_unidirectional_s8", dense.lstm_s8_by_sequence, since="main", several=True),
    Kernel("arm_lstm_unidirectional_s16", dense.lstm_s16, since="6.0.0", until="main", several=True),
    Kernel("arm_lstm_unidirectional_s16", dense.lstm_s16_by_sequence, since="main", several=True),
    Kernel("arm_svdf_s8", dense.svdf_s8, since="6.0.0", several=True),
    Kernel("arm_svdf_state_s16_s8", dense.svdf_state_s16, since="6.0.0", several=True),
)
"""No two rows of a kernel share an instruction set and a release."""


@cache
def kernel_of(effective: str, isa: Isa, release: str) -> Kernel | None:
    """The row of a kernel in one build, None where its loops are not known."""
    for row in KERNELS:
        if row.effective == effective and isa in row.isas and holds(row.since, row.until, release):
            return row
    return None


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
    if call.weight_offset or (call.int32_bias and target.isa is Isa.MVE):
        return None  # measured without an offset, which takes 4 to 29 % (7.0.0), and with biases of 64 bits
    counts: Counts = {f"via.{function}": 1 for function in taken.chain[:-1]}
    if call.entry == "depthwise_s8" and taken.kernel.startswith("arm_convolve"):
        sizes = sizes._replace(filter_c=sizes.in_c)
        add(counts, to_conv(sizes))
    covered = kernel.covers(sizes)
    if call.int32_bias:
        covered = covered & (sizes.depth <= convolution.SHORT)
    of_one: Counts = {}
    if covered is not False:
        if sizes.n > 1 and not kernel.several:
            of_one = counts | kernel.loops(sizes._replace(n=1), target.isa)
        add(counts, kernel.loops(sizes, target.isa))
        if not call.bias and holds(MEASURED, "", target.release):
            add(counts, without_bias(taken.effective, sizes, target.isa))
    return _Counted(counts, covered, sizes.n, of_one)


# Reference code: the least and the most instructions that it takes.
#
# Who writes the application decides how good the code is, so there is no one number. The most is that of the code in
# which the firmware check computes a layer (its runtime/reference.c), in the worst of -O2, -O3 and -Os. The least is
# that of the library's own C where it has a function that does the same work, else the best of the three. Measured with
# gcc 12.2 under QEMU on Cortex-M0, M3, M4, M23 and M55: tests/data/cost_plain.jsonl.gz.


class PerElement(NamedTuple):
    """Instructions for each element."""

    least: float
    """Good code."""
    most: float
    """Simple code."""


class CopyCost(NamedTuple):
    """Instructions of a copy along several axes."""

    least: float
    """Of an element, good code: arm_transpose_s8 of 7.0.0."""
    line: float
    """Of an element whose neighbours stay its neighbours, good code."""
    call: float
    """Of a call, simple code."""
    element: float
    """Of an element, simple code."""
    carry: float
    """Of an inner loop that ended, simple code."""


COPIES = {
    "cortex-m0": CopyCost(5, 0.5, 300, 27, 25.6),
    "cortex-m23": CopyCost(5, 0.5, 300, 27, 25.6),
    "scalar": CopyCost(5, 0.5, 300, 23, 15),
    "dsp": CopyCost(5, 0.5, 300, 24, 15),
    "mve": CopyCost(3.9, 0.15, 313, 24.1, 15.1),
}
"""A copy by its build; no cost is known on another."""

ELEMENTS = {
    "lookup": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(6, 7.1)),
        **dict.fromkeys(("scalar", "dsp"), PerElement(5, 7.1)),
        "mve": PerElement(3.9, 7.2),
    },
    "requantize": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(109, 134.1)),
        **dict.fromkeys(("scalar", "dsp"), PerElement(45, 62.1)),
        "mve": PerElement(37, 52.2),
    },
    "elementwise_add": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(232, 637)),
        "scalar": PerElement(83, 345),
        "dsp": PerElement(78, 345),
        "mve": PerElement(13.2, 67),
    },
    "elementwise_mul": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(88, 138.1)),
        "scalar": PerElement(29, 66),
        "dsp": PerElement(34, 66),
        "mve": PerElement(6.2, 56),
    },
}
"""Kind of reference code to its cost by build. The least of sums and products is that of arm_elementwise_add_s8 and
_mul_s8."""
CALL = 60
"""Instructions around a loop over elements, at most."""
JOINED = "concatenation"
"""Reference code that changes the scale of each element, as `requantize` does."""
MOVING = ("move", "transpose", "pad")
"""Reference code that copies elements."""


def copy_range(target: Target, places: list[tuple[int, int]], width: int = 1) -> tuple[int, int] | None:
    """Least and most instructions of a copy; `width` are the bytes of an element.

    `places` has for each loop from the outermost how often it runs, and how many elements it goes on in the source.
    None for a compiler and a CPU that nothing was measured with.
    """
    cost, elements = COPIES.get(integer_build(target).name), prod(size for size, _ in places)
    if target.compiler != COMPILER or cost is None:
        return None
    loops = [*(size for size, _ in places), *([width] if width > 1 else [])]
    carries = sum(prod(loops[:axis]) for axis in range(1, len(loops)))
    inner = next((step for size, step in reversed(places) if size > 1), 1)
    least = elements * cost.line if inner == 1 else elements * cost.least
    return int(least), ceil(cost.call + elements * width * cost.element + carries * cost.carry)


def reference_range(
    target: Target, code: str, sizes: tuple[int, ...], width: int = 1, *, repeats: bool = False
) -> tuple[int, int] | None:
    """Least and most instructions of a kind of reference code that writes a tensor of these sizes.

    `repeats`: an operand has fewer elements, of which simple code first makes a tensor of these sizes. None for
    kinds and CPUs that were not measured, and for another compiler than gcc.
    """
    build = integer_build(target).name
    cost, elements = COPIES.get(build), prod(sizes)
    if target.compiler != COMPILER or cost is None:
        return None
    ending = 2 + sizes[1:].count(1)  # loops that end with an element, at most: a loop of size 1 does with each
    copied = cost.call + elements * width * (cost.element + ending * cost.carry)
    if code in MOVING:
        return int(elements * cost.line), ceil(copied)
    row = ELEMENTS.get("requantize" if code == JOINED else code)
    if row is None or width > 1:
        return None
    calls = elements if code == JOINED else 1  # a run of a joined tensor may be one element long
    most = calls * CALL + elements * row[build].most + (copied if repeats else 0)
    return int(elements * row[build].least), ceil(most)
