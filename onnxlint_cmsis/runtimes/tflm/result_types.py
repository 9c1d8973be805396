"""Types of results that a file states, and what kernels of TensorFlow Lite Micro without a check of them do.

Such a kernel asks for the type of an input or of its output alone, and takes the others for the same. Kernels that
check have rows in `kernels.py`. Lines are those of revision 90b983c2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, OperatorView
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, Objection, condition

PAST_END = "past the end of its output"


@condition
def type_of_input(view: OperatorView, position: int) -> Objection | None:
    """Outputs have the type of an input, which is the one that the kernel writes."""
    data = view.input(position)
    return _written(view, data.elem_type, f"'{data.name}' is {data.elem_type}") if data else None


def type_bool(view: OperatorView) -> Objection | None:
    """Outputs are BOOL, which is what the kernel writes."""
    return _written(view, "BOOL", "the kernel writes BOOL")


def _written(view: OperatorView, kind: str, why: str) -> Objection | None:
    outputs = (view.output(position) for position in range(len(view.operator.outputs)))
    bad = next((output for output in outputs if output and output.elem_type != kind), None)
    if bad is None:
        return None
    does = "" if kind == "BOOL" else f"; the kernel writes {kind}"
    past = f", {PAST_END}" if BITS.get(kind, 0) > BITS.get(bad.elem_type, 0) else ""
    return f"{why} and its output '{bad.name}' is {bad.elem_type}{does}{past}"


@condition
def types_of_output(view: OperatorView, *positions: int) -> Objection | None:
    """Inputs have the type of the output, which is the one that the kernel reads."""
    output = view.output()
    inputs = (view.input(position) for position in positions)
    bad = next((data for data in inputs if output and data and data.elem_type != output.elem_type), None)
    if output is None or bad is None:
        return None
    wide = BITS.get(output.elem_type, 0) > BITS.get(bad.elem_type, 0)
    return (
        f"'{bad.name}' is {bad.elem_type} and its output '{output.name}' is {output.elem_type}; the kernel reads "
        f"{output.elem_type}{', past the end of its input' if wide else ''}"
    )


_TABLE = (
    ("DYNAMIC_UPDATE_SLICE", "dynamic_update_slice.cc:93", type_of_input(0)),
    ("EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL", "comparisons.cc:50", type_bool),
    ("EXPAND_DIMS", "expand_dims.cc:126", type_of_input(0)),
    ("FLOOR", "floor.cc:38", type_of_input(0)),
    ("GATHER", "gather.cc:129", type_of_input(0)),
    ("GATHER_ND", "gather_nd.cc:87", type_of_input(0)),
    ("LOGICAL_AND LOGICAL_OR", "logical_common.cc:45", type_bool),
    ("MAXIMUM MINIMUM", "maximum_minimum.cc:38", types_of_output(0, 1)),
    ("MEAN", "reduce_common.cc:304", type_of_input(0)),
    ("MIRROR_PAD", "mirror_pad.cc:137", types_of_output(0)),
    ("MUL", "mul.cc:45", type_of_input(0)),
    ("NEG", "neg.cc:41", type_of_input(0)),
    ("PRELU", "prelu.cc:44", type_of_input(0)),
    ("RELU", "activations.cc:54", type_of_input(0)),
    ("RELU6", "activations.cc:96", type_of_input(0)),
    ("RESIZE_BILINEAR", "resize_bilinear.cc:80", types_of_output(0)),
    ("RESIZE_NEAREST_NEIGHBOR", "resize_nearest_neighbor.cc:83", types_of_output(0)),
    ("SELECT_V2", "select.cc:162", type_of_input(1)),
    ("SPLIT", "split.cc:97", type_of_input(1)),
    ("SPLIT_V", "split_v.cc:100", type_of_input(0)),
    ("SQUARED_DIFFERENCE", "squared_difference.cc:243", types_of_output(0)),
    ("UNPACK", "unpack.cc:82", type_of_input(0)),
    ("ZEROS_LIKE", "zeros_like.cc:60", type_of_input(0)),
)
TYPED: Mapping[str, tuple[KernelLimit, ...]] = MappingProxyType(
    {op: (KernelLimit(source, KernelOutcome.WRONG, asked),) for ops, source, asked in _TABLE for op in ops.split()}
)
"""Rows by operator, asked behind those of its kernel."""
