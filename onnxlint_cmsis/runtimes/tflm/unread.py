"""Kernels of TensorFlow Lite Micro that changed after 2022, and what they did before was not read: no verdict then.

A row names what an operator has, and the day from which the rows of `kernels.py` hold for it. All else is judged by
these rows from the first revision on: each kernel's file of 2022-12-21 was held against that of 2024-05-07.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED
from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.element_types import INT16
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import always, plain_if_stretched, where, with_steps
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView
from onnxlint_cmsis.runtimes.tflm.rows import RUNTIME_SHAPE, Condition, KernelLimit, Objection
from onnxlint_cmsis.runtimes.tflm.scale_conditions import gentle_scale
from onnxlint_cmsis.runtimes.tflm.shared_rows import FILTER, IMAGE, PAIRS, in_pairs, offset_filter

SHAPES_COMPUTED = "2024-01-02", "2024-01-11"
"""Days of pull request 2356, which let kernels work out the sizes of their output, and of its end."""
BLOCKS_COMPUTED = "2023-11-28", "2023-11-30"
"""The same of pull request 2335, for SPACE_TO_BATCH_ND."""
EVERY = always("")
"""Of a row for every operator of its name."""


def before(day: str, file: str, condition: Condition = EVERY, since: str = "") -> KernelLimit:
    """What an operator has that nobody read before a day; `since` is the day on which that form of the kernel came."""
    days = f"from {since} to {day}" if since else f"before {day}"

    def unread(view: OperatorView) -> Objection | None:
        text = condition(view)
        if condition is not EVERY and not text:
            return None
        return f"{text}{'; ' * bool(text)}{days} the kernel was another one, which was not read"

    return KernelLimit(file, KernelOutcome.UNREAD, unread, "", since, day, NOT_REVIEWED)


def of_type(operand: KernelOperand, *types: str) -> Condition:
    """The operand has one of the element types."""
    return where(operand, types, lambda view: f"{operand.title} is {operand.of(view).elem_type}")


def without_bias(view: OperatorView) -> Objection | None:
    """No bias: the kernels freed a tensor that was not there."""
    return "it has no bias" if view.input(2) is None else None


def other_sums(view: OperatorView) -> Objection | None:
    """An int16 layer whose bias is not int64: CMSIS-NN or reference code added in 64 bits, or in 32."""
    bias = view.input(2)
    kind = "no bias" if bias is None else f"a bias of {bias.elem_type}"
    return None if bias is not None and bias.elem_type == "INT64" else f"it is an int16 layer with {kind}"


def computed_weights(view: OperatorView) -> Objection | None:
    """Weights that a run computes, whose sums Prepare worked out."""
    return None if view.constant(FILTER.of(view)) else "its weights are computed"


def computed_handle(view: OperatorView) -> Objection | None:
    """A variable's handle that no file holds, which Prepare read."""
    return None if view.constant(view.input(0)) else "its handle is computed"


def deep(view: OperatorView) -> Objection | None:
    """Tensors of more axes than a RuntimeShape had room for."""
    rank = max((len(tensor.shape) for tensor in view.tensors), default=0)
    return f"it has a tensor of {rank} dimensions" if rank > 5 else None


INT4_WEIGHTS = of_type(FILTER, "INT4")
CHANGED: Mapping[str, tuple[KernelLimit, ...]] = MappingProxyType({
    "ADD": (
        before("2023-03-27", "add_common.cc", where(OUTPUT, INTEGER, with_steps(OUTPUT))),
        before("2023-09-01", "tensorflow/lite/kernels/internal/reference/add.h", plain_if_stretched(4)),
    ),
    "ASSIGN_VARIABLE": (before("2023-04-12", "assign_variable.cc", computed_handle),),
    "BATCH_TO_SPACE_ND": (before(SHAPES_COMPUTED[1], "batch_to_space_nd.cc", since=SHAPES_COMPUTED[0]),),
    "CAST": (
        before("2023-10-02", "cast.cc", of_type(OUTPUT, "UINT32")),
        before("2024-01-22", "cast.cc", of_type(DATA, "BOOL")),
    ),
    "CONV_2D": (
        before(SHAPES_COMPUTED[1], "conv_common.cc", since=SHAPES_COMPUTED[0]),
        before("2023-08-24", "conv_common.cc", without_bias),
        before("2023-11-14", "cmsis_nn/conv.cc", INT4_WEIGHTS),
        before("2024-04-29", "cmsis_nn/conv.cc", where(DATA, INT16, other_sums)),
    ),
    "DEPTHWISE_CONV_2D": (
        before(SHAPES_COMPUTED[1], "depthwise_conv_common.cc", since=SHAPES_COMPUTED[0]),
        before("2023-03-08", "depthwise_conv_common.cc", in_pairs(DATA, *PAIRS, alike=True)),
        before("2023-11-14", "cmsis_nn/depthwise_conv.cc", INT4_WEIGHTS),
    ),
    "EXPAND_DIMS": (before(SHAPES_COMPUTED[1], "expand_dims.cc", since=SHAPES_COMPUTED[0]),),
    "FULLY_CONNECTED": (
        before("2023-03-01", "fully_connected.cc", in_pairs(DATA, *PAIRS)),
        before("2023-11-14", "cmsis_nn/fully_connected.cc", INT4_WEIGHTS),
        before("2024-02-23", "cmsis_nn/fully_connected.cc", computed_weights),
        before("2024-02-23", "cmsis_nn/fully_connected.cc", offset_filter),
    ),
    "GATHER_ND": (before("2023-02-09", "gather_nd.cc"),),
    "IF": (before("2024-03-21", "if.cc"),),
    "LOGISTIC": (before("2023-06-21", "logistic_common.cc", where(DATA, INT16, gentle_scale)),),
    "MEAN": (before("2023-04-18", "reduce_common.cc"),),
    "MUL": (
        before("2023-02-14", "mul_common.cc", of_type(OUTPUT, "INT16")),
        before("2023-09-05", "tensorflow/lite/kernels/internal/reference/mul.h", plain_if_stretched(4)),
    ),
    "REDUCE_MAX": (before("2023-11-30", "reduce_common.cc"),),
    "RESHAPE": (before(SHAPES_COMPUTED[1], "reshape_common.cc", since=SHAPES_COMPUTED[0]),),
    "SELECT_V2": (before("2023-06-01", "select.cc"),),
    "SPACE_TO_BATCH_ND": (
        before(BLOCKS_COMPUTED[1], "space_to_batch_nd.cc", since=BLOCKS_COMPUTED[0]),
        before(SHAPES_COMPUTED[1], "space_to_batch_nd.cc", since=SHAPES_COMPUTED[0]),
    ),
    "SQUARED_DIFFERENCE": (before("2023-03-06", "squared_difference.cc"),),
    "SUB": (before("2023-09-25", "tensorflow/lite/kernels/internal/reference/sub.h", plain_if_stretched(4)),),
    "SUM": (before("2023-04-18", "reduce_common.cc"),),
    "SVDF": (before("2023-09-19", "cmsis_nn/svdf.cc"),),
    "TANH": (before("2023-06-21", "tanh.cc", where(DATA, INT16, gentle_scale)),),
    "TRANSPOSE_CONV": (before("2023-03-08", "transpose_conv.cc", in_pairs(IMAGE, *PAIRS, alike=True)),),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (before("2024-04-23", "unidirectional_sequence_lstm.cc"),),
})  # fmt: skip
"""By operator. Of a kernel in two builds the file of the one that changed is named, and both are unread."""
SIX_AXES = before("2023-04-06", RUNTIME_SHAPE, deep)
"""Of every operator: a RuntimeShape of five sizes, which looked at no more."""


def unread(op: str) -> Iterator[KernelLimit]:
    """Rows of an operator."""
    yield SIX_AXES
    yield from CHANGED.get(op, ())
