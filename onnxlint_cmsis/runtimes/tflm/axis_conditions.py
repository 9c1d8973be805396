"""What kernels check of the axes that they reduce, split or turn."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from onnxlint_cmsis.runtimes.tflm.operands import AXIS, DATA, OUTPUT, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import numbers_of
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable
from onnxlint_cmsis.runtimes.tflm.rows import Objection, condition


@condition
def axis_within(view: OperatorView, operand: KernelOperand, data: KernelOperand, more: int = 0) -> Objection | None:
    """A constant axis is one of the data's; `more` allows further ones behind the last.

    Raises Unpredictable where the file holds fewer int32 than the kernel reads.
    """
    rank, stored_axes = len(data.of(view).shape), operand.of(view)
    axes = numbers_of(view, stored_axes, "INT32")
    if axes is None and view.constant(stored_axes) and not stored_axes.encoding:
        count = len(view.model.bytes_of(stored_axes.buffer))
        raise Unpredictable(f"{operand.title} has {count} bytes; {4 * prod(stored_axes.shape)} are read")
    axes = axes or ()
    bad = [int(axis) for axis in axes if not -rank - more <= axis < rank + more]
    return f"axis {bad[0]} of {data.title}, which has {rank} dimensions" if bad else None


def reduced_axes(view: OperatorView) -> Objection | None:
    """Constant axes of a reduction are the input's; a scalar has none to look at."""
    return axis_within(AXIS, DATA)(view) if DATA.of(view).shape else None


def few_axes(view: OperatorView) -> Objection | None:
    """Axes of a reduction that fit int[2], and a rank that fits int[5] (K/reduce_common.cc of 2025-08-05:32)."""
    data, output, axes = DATA.of(view).shape, OUTPUT.of(view).shape, view.input(1)
    apart = len(data) - len(output)
    count = apart or sum(before != after for before, after in zip(data, output, strict=False))
    if axes is not None:
        numbers = numbers_of(view, axes, "INT32")
        count = prod(axes.shape) if numbers is None else len({int(axis) % max(len(data), 1) for axis in numbers})
    if count > 2:
        return f"{count} axes are written into an array of 2 on the stack"
    return f"the indices of {len(data)} axes are written into an array of 5 on the stack" if len(data) > 5 else None


def contiguous(view: OperatorView) -> Objection | None:
    """Constant axes stand beside each other."""
    rank = len(DATA.of(view).shape)
    axes = sorted(int(axis) % max(rank, 1) for axis in numbers_of(view, AXIS.of(view), "INT32") or ())
    apart = any(left + 1 != right for left, right in pairwise(axes))
    return f"axes {axes} do not stand beside each other" if apart else None


def image_mean(view: OperatorView) -> Objection | None:
    """The mean of an image's rows and columns leaves one of each (lite/kernels/internal/reference/reduce.h:352)."""
    data, axes, output = DATA.of(view), numbers_of(view, AXIS.of(view), "INT32"), OUTPUT.of(view).shape
    image = data.elem_type == "FLOAT32" and len(data.shape) == 4 and view.option("keep_dims")
    if not image or axes is None or sorted(axes) != [1, 2]:
        return None
    extended = (1,) * (4 - len(output)) + output
    return None if len(output) <= 4 and extended[1:3] == (1, 1) else f"its output has shape {list(output)}"
