"""Sizes of the results of TensorFlow Lite's operators, as their kernels compute them from operands and options.

A `.tflite` file states the sizes of every tensor. LiteRT computes those of results anew (Prepare of each kernel,
tensorflow/lite/kernels/*.cc), and TensorFlow Lite Micro believes most that the file states. Where the two differ, one
file means two things. So whoever reads sizes asks here first:

    try:
        computed = result_sizes(node, view)
    except NotComputedError as error:
        ...  # operands that a run computes, sizes that are open, operands that do not fit; str(error) is a clause

`view` is a `NodeView` of the graph, say: shapes of operands as they are known, and numbers of small constants.
`computed_sizes` asks for an operator of the file, which states the sizes of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.formats.tflite import moved_sizes, weighted_sizes
from onnxlint_cmsis.formats.tflite.elementwise_sizes import alike, along, chosen, largest, pair, reduction, same
from onnxlint_cmsis.formats.tflite.operand_sizes import NotComputedError, Operands, Rule, Shape, SizesView, needs
from onnxlint_cmsis.model.graph import Node


def result_sizes(node: Node, view: SizesView) -> tuple[Shape, ...]:
    """Sizes of each result of a builtin operator. Raises NotComputedError."""
    rule = RULES.get(node.op_type)
    if rule is None or node.bodies:
        raise NotComputedError(f"sizes that {node.op_type} makes are not computed")
    shapes = tuple(tuple(shape) for shape in rule(Operands(node, view)))
    needs(len(shapes) == len(node.outputs), f"it makes {len(shapes)} results, and the file has {len(node.outputs)}")
    needs(all(size >= 0 for shape in shapes for size in shape), "a size of its result is below 0")
    return shapes


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "CONV_2D": weighted_sizes.convolution,
        "DEPTHWISE_CONV_2D": weighted_sizes.depthwise,
        "TRANSPOSE_CONV": weighted_sizes.transposed,
        "FULLY_CONNECTED": weighted_sizes.dense,
        "BATCH_MATMUL": weighted_sizes.products,
        "SVDF": weighted_sizes.svdf,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": weighted_sizes.recurrent,
        **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), weighted_sizes.pool),
        **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), weighted_sizes.resized),
        **dict.fromkeys(("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOG"), same),
        **dict.fromkeys(("LOGICAL_NOT", "LOGISTIC", "NEG", "RELU", "ROUND", "SIGN", "SIN", "SQRT", "TANH"), same),
        **dict.fromkeys(("RSQRT", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "SQUARE", "ZEROS_LIKE", "QUANTIZE"), same),
        **dict.fromkeys(("DEQUANTIZE", "FAKE_QUANT", "CAST", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), same),
        "DYNAMIC_UPDATE_SLICE": same,
        **dict.fromkeys(("CUMSUM", "REVERSE_V2"), along),
        **dict.fromkeys(("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "PRELU", "POW", "SQUARED_DIFFERENCE"), pair),
        **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND"), pair),
        **dict.fromkeys(("LOGICAL_OR", "FLOOR_DIV", "FLOOR_MOD", "SELECT_V2"), pair),
        "ADD_N": alike,
        **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"), reduction),
        "REDUCE_PROD": reduction,
        **dict.fromkeys(("ARG_MAX", "ARG_MIN"), chosen),
        "TOPK_V2": largest,
        "RESHAPE": moved_sizes.reshaped,
        "SQUEEZE": moved_sizes.squeezed,
        "EXPAND_DIMS": moved_sizes.expanded,
        "TRANSPOSE": moved_sizes.turned,
        "SLICE": moved_sizes.counted_slice,
        "STRIDED_SLICE": moved_sizes.strided_slice,
        "SPLIT": moved_sizes.split,
        "SPLIT_V": moved_sizes.split_by,
        "UNPACK": moved_sizes.unpacked,
        "PACK": moved_sizes.packed,
        "CONCATENATION": moved_sizes.joined,
        "GATHER": moved_sizes.gathered,
        "GATHER_ND": moved_sizes.gathered_deep,
        "EMBEDDING_LOOKUP": moved_sizes.looked_up,
        **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), moved_sizes.padded),
        "TILE": moved_sizes.tiled,
        "BROADCAST_TO": moved_sizes.spread,
        "BROADCAST_ARGS": moved_sizes.longest,
        "FILL": moved_sizes.filled,
        "SHAPE": moved_sizes.measured,
        "DEPTH_TO_SPACE": moved_sizes.depth_to_space,
        "SPACE_TO_DEPTH": moved_sizes.space_to_depth,
        "SPACE_TO_BATCH_ND": moved_sizes.space_to_batch,
        "BATCH_TO_SPACE_ND": moved_sizes.batch_to_space,
    }
)
"""Rules by operator, in TensorFlow Lite's names."""
