"""Instructions that the data or the input's scale decide: the least and the most that a call retires.

arm_nn_softmax_common_s8 (SoftmaxFunctions/arm_nn_softmax_common_s8.c, 7.0.0) skips the exponential of a value that
lies diff_min or more below the largest of its row, in both of its loops. A call retires the least where each row
computes only its largest value, and the most where it computes all values and they differ from the largest.

arm_softmax_s16 (arm_softmax_s16.c, 7.0.0) takes one of two numbers: gcc makes code of arm_nn_requantize for each sign
of the shift. The least is for shifts above 0, which input scales of at least 10 / 65535 have.
"""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.cmsis_nn.compiler_defects import SCALAR_SOFTMAX
from onnxlint_cmsis.cmsis_nn.compilers import GCC_12, MeasuredCompiler
from onnxlint_cmsis.cmsis_nn.cost_records import float_build, table_for
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, sizes_of
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target

ENDS = ("least", "most")


def data_range(call: KernelCall, target: Target, taken: Route, compiler: MeasuredCompiler) -> tuple[int, int] | None:
    """Least and most instructions of one call. None where the data decide nothing, or where nothing was measured."""
    if not range_reason(taken.effective):
        return None
    table = table_for(target, taken.effective, compiler, floats=call.floating is not None)
    if call.floating is not None:
        return _float_range(call, target, taken, table or {})
    ends = ends_of(call, target, taken, compiler)
    if table is None or ends is None or not set(ends[0]) | set(ends[1]) <= table.keys():
        return None
    sums = sorted(round(sum(times * table[name] for name, times in counts.items())) for counts in ends)
    return sums[0], sums[1]


def _float_range(call: KernelCall, target: Target, taken: Route, table: dict[str, float]) -> tuple[int, int] | None:
    """Least and most of a call for f32 or f16 whose data decide."""
    from onnxlint_cmsis.cmsis_nn.float.loops import deciding, float_counts

    build = float_build(target)
    kinds = [float_counts(call, build, taken, data) for data in deciding(call, build.isa)]
    known = [counts for counts in kinds if counts is not None and counts.keys() <= table.keys()]
    if not kinds or len(known) < len(kinds):
        return None
    numbers = [sum(times * table[name] for name, times in counts.items()) for counts in known]
    return round(min(numbers)), round(max(numbers))


def ends_of(
    call: KernelCall, target: Target, taken: Route, compiler: MeasuredCompiler = GCC_12
) -> tuple[Counts, Counts] | None:
    """Runs of each piece for the least and the most; None where one number holds, or a size is unknown."""
    row = KERNELS.get(taken.effective)
    sizes = sizes_of(call) if row else None
    if row is None or sizes is None or sizes.in_h != 1 or sizes.in_w != 1 or sizes.in_c < 2:
        return None
    vectors = taken.effective in SCALAR_SOFTMAX.functions and SCALAR_SOFTMAX.changes(target) and compiler is not GCC_12
    counts = _counts_vectors if vectors else row.counts
    least, most = (counts(f"{row.stem}.{end}", sizes, target.isa) for end in ENDS)
    return least, most


def _counts_vectors(name: str, sizes: LoopSizes, _: Isa) -> Counts:
    """Runs of the MVE code: 16 values for the largest, four for sum and result, the rest one by one."""
    rows, length = sizes.n, sizes.in_c
    name += ".mve"
    return {
        name: 1,
        f"{name}.row": rows,
        f"{name}.sixteen": rows * ((length + 15) // 16),
        f"{name}.four": rows * (length // 4),
        f"{name}.fours": rows * (length >= 4),
        f"{name}.single": rows * (length % 4),
        f"{name}.singles": rows * (length % 4 > 0),
    }


def _counts_s8(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Runs for the largest of a row, the other values, and on MVE gcc's vectors that search the largest."""
    rows, length = sizes.n, sizes.in_c
    counts = {name: 1, f"{name}.row": rows, f"{name}.element": rows * (length - 1)}
    if isa is not Isa.MVE:
        return counts
    sixteens, rest = (length - 1) // 16, (length - 1) % 16
    return counts | {
        f"{name}.sixteen": rows * sixteens,
        f"{name}.sixteens": rows * (sixteens > 0),
        f"{name}.eight": rows * (rest // 8),
        f"{name}.single": rows * (rest % 8),
        f"{name}.single.enter": rows * (rest % 8 > 0),
        f"{name}.short": rows * (length < 17) * length,
    }


def _counts_s16(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Runs for each row and value; on MVE gcc searches rows of over 10 values for the largest, eight at a time."""
    rows, length = sizes.n, sizes.in_c
    counts = {name: 1, f"{name}.row": rows, f"{name}.element": rows * length}
    if isa is not Isa.MVE:
        return counts
    long = 1 * (length > 10)
    tail = (length - 1) % 8 * long + (length - 1) * (1 - long)
    return counts | {
        f"{name}.eights": rows * long,
        f"{name}.eight": rows * long * ((length - 1) // 8),
        f"{name}.single": rows * tail,
        f"{name}.single.enter": rows * (tail > 0),
    }


class RangeRow(NamedTuple):
    """A function without one number."""

    stem: str
    """First part of the names of its pieces."""
    counts: Callable[[str, LoopSizes, Isa], Counts]
    """Runs of the pieces of one end, which bear the name given."""
    decides: str
    """What decides, as a clause."""


_DATA = "the data decide"

KERNELS = {
    "arm_softmax_s8": RangeRow("softmax_s8", _counts_s8, _DATA),
    "arm_softmax_s8_s16": RangeRow("softmax_s8_s16", _counts_s8, _DATA),
    "arm_softmax_s16": RangeRow("softmax_s16", _counts_s16, "the scale of its input decides"),
}
"""Function to its row."""

_FLOATS = ("_f32", "_f16")


def range_reason(kernel: str) -> str:
    """What decides between the least and the most instructions of a kernel, as a clause; empty for one number."""
    row = KERNELS.get(kernel)
    if row is None:
        return _DATA if any(kind in kernel for kind in _FLOATS) else ""
    return row.decides
