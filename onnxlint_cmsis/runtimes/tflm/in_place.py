"""Operators whose result may lie exactly where an operand lies: each element is read before it is written.

The loops are the same in all reviewed revisions, and in CMSIS-NN 4.0.0 to `main`. Lines are those of TensorFlow Lite
Micro 90b983c2 and of CMSIS-NN `main`.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.operator_view import tensor_bytes


class InPlaceRow(NamedTuple):
    """One operator."""

    op: str
    """Operator in the schema's words."""
    types: tuple[str, ...]
    """Element types of operands and result, which have one shape; none where the first operand is copied as it is."""
    sources: tuple[str, ...]
    """Where the order of reading and writing stands, of every kernel that may run."""


K = "tensorflow/lite/micro/kernels/"
R = "tensorflow/lite/kernels/internal/reference/"
N = "Source/BasicMathFunctions/"

IN_PLACE = (
    InPlaceRow("RESHAPE", (), (f"{K}reshape.cc:45",)),
    InPlaceRow("QUANTIZE", ("INT8", "UINT8"), (f"{R}requantize.h:47-49", f"{R}requantize.h:55-64")),
    InPlaceRow(
        "ADD", ("INT8",), (f"{N}arm_elementwise_add_s8.c:79-101", f"{N}arm_elementwise_add_s8.c:128-194",
                           f"{N}arm_elementwise_add_s8.c:208-221", f"{R}integer_ops/add.h:70-72"),
    ),
    InPlaceRow(
        "ADD", ("INT16",), (f"{N}arm_elementwise_add_s16.c:82-100", f"{N}arm_elementwise_add_s16.c:115-138",
                            f"{N}arm_elementwise_add_s16.c:147-159", f"{R}add.h:63-83"),
    ),
    InPlaceRow(
        "MUL", ("INT8",), (f"{N}arm_elementwise_mul_s8.c:73-88", f"{N}arm_elementwise_mul_s8.c:116-154",
                           f"{N}arm_elementwise_mul_s8.c:168-177", f"{R}integer_ops/mul.h:35-47"),
    ),
    InPlaceRow("RELU", ("INT8", "INT16"), (f"{K}activations.h:45-55",)),
    InPlaceRow("RELU6", ("INT8", "INT16"), (f"{K}activations.h:73-77",)),
    InPlaceRow("LEAKY_RELU", ("INT8", "INT16"), (f"{R}leaky_relu.h:56-74",)),
    InPlaceRow("HARD_SWISH", ("INT8",), (f"{R}hard_swish.h:68-162",)),
    InPlaceRow("LOGISTIC", ("INT8",), (f"{R}integer_ops/logistic.h:37-60",)),
    InPlaceRow("TANH", ("INT8",), (f"{R}integer_ops/tanh.h:40-60",)),
)  # fmt: skip
"""Operators that were read for it; of others nothing is taken for granted."""


def shared_operands(subgraph: Subgraph, operator: TfliteOperator) -> Iterator[int]:
    """Operands, by their numbers in the subgraph, on whose bytes the result may lie."""
    if len(operator.outputs) != 1 or not operator.inputs:
        return
    result = subgraph.tensors[operator.outputs[0]]
    for row in IN_PLACE:
        if row.op != operator.op or (row.types and result.elem_type not in row.types):
            continue
        if not row.types:
            first = operator.inputs[0]
            if first >= 0 and tensor_bytes(subgraph.tensors[first]) == tensor_bytes(result):
                yield first
            continue
        operands = {number: subgraph.tensors[number] for number in operator.inputs if number >= 0}
        if all(operand.elem_type in row.types and operand.shape == result.shape for operand in operands.values()):
            yield from operands


def pairs_in_place(model: TfliteModel) -> set[tuple[int, int]]:
    """Operand and result of every operator that may share bytes, counted over the tensors of all subgraphs."""
    pairs = set()
    start = 0
    for subgraph in model.subgraphs:
        for operator in subgraph.operators:
            for operand in shared_operands(subgraph, operator):
                if operand not in operator.outputs:
                    pairs.add((start + operand, start + operator.outputs[0]))
        start += len(subgraph.tensors)
    return pairs
