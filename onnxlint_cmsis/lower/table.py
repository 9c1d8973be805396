"""Which function lowers which operator, and the pass over a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.convolution import lower_convolution, lower_transpose
from onnxlint_cmsis.lower.dense import lower_dense
from onnxlint_cmsis.lower.elementwise import lower_elementwise
from onnxlint_cmsis.lower.foreign import INTEGERS, foreign_reason
from onnxlint_cmsis.lower.fusing import fused_behind
from onnxlint_cmsis.lower.layer import UNDECIDED, Layer, Lowered
from onnxlint_cmsis.lower.other import lower_concat, lower_softmax, lower_transpose_axes
from onnxlint_cmsis.lower.pads import lower_pad
from onnxlint_cmsis.lower.pooling import lower_pool
from onnxlint_cmsis.lower.recurrent import lower_lstm
from onnxlint_cmsis.operators.derived import derived_values

Rule = Callable[[Graph, Node, Assumptions], "Layer | str | None"]

LOWERINGS: dict[tuple[str, str], Rule] = {
    ("", "Conv"): lower_convolution,
    ("", "ConvInteger"): lower_convolution,
    ("", "QLinearConv"): lower_convolution,
    ("com.microsoft", "FusedConv"): lower_convolution,
    ("com.microsoft", "QLinearConv"): lower_convolution,
    ("", "ConvTranspose"): lower_transpose,
    ("", "Gemm"): lower_dense,
    ("com.microsoft", "FusedGemm"): lower_dense,
    ("com.microsoft", "QGemm"): lower_dense,
    ("", "MatMul"): lower_dense,
    ("", "MatMulInteger"): lower_dense,
    ("", "QLinearMatMul"): lower_dense,
    ("com.microsoft", "FusedMatMul"): lower_dense,
    ("com.microsoft", "DynamicQuantizeMatMul"): lower_dense,
    ("com.microsoft", "MatMulIntegerToFloat"): lower_dense,
    ("", "MaxPool"): lower_pool,
    ("", "AveragePool"): lower_pool,
    ("", "GlobalAveragePool"): lower_pool,
    ("", "GlobalMaxPool"): lower_pool,
    ("com.microsoft", "QLinearAveragePool"): lower_pool,
    ("com.microsoft", "QLinearGlobalAveragePool"): lower_pool,
    ("", "Add"): lower_elementwise,
    ("", "Mul"): lower_elementwise,
    ("", "Max"): lower_elementwise,
    ("", "Min"): lower_elementwise,
    ("com.microsoft", "QLinearAdd"): lower_elementwise,
    ("com.microsoft", "QLinearMul"): lower_elementwise,
    ("", "Sum"): lower_elementwise,
    ("", "Softmax"): lower_softmax,
    ("com.microsoft", "QLinearSoftmax"): lower_softmax,
    ("", "Concat"): lower_concat,
    ("com.microsoft", "QLinearConcat"): lower_concat,
    ("", "Transpose"): lower_transpose_axes,
    ("", "Pad"): lower_pad,
    ("", "LSTM"): lower_lstm,
}

CHANNELS_LAST = "its channels are last; a layer is followed with channels first only"
"""Reason of ONNX Runtime's operators with the attribute `channels_last`."""
SHAPE_OPERATORS = ("Add", "Mul", "Max", "Min", "Sum", "Concat", "Transpose", "Pad")
"""Operators that are arithmetic on shapes where they make integers."""


def lower(graph: Graph, assume: str = "s8", one_channel: str = "convolution") -> Lowered:
    """Lower every node that has a form in CMSIS-NN and depends on the input, in file order.

    `assume` is the data type of layers that compute in float: `s8`, `s16` or `s4`; `one_channel` is what a convolution
    with one group over one input channel becomes: `convolution` or `depthwise`.
    """
    assumptions = Assumptions(assume, one_channel)
    layers: list[Layer] = []
    undecided: list[Node] = []
    foreign: list[tuple[Node, str]] = []
    fused: set[int] = set()
    derived = derived_values(graph)
    for node in graph.nodes:
        if not _complete(node) or node.index in fused or node.outputs[0] in derived:
            continue
        rule = LOWERINGS.get((node.domain, node.op_type))
        if rule is None:
            reason = foreign_reason(graph, node)
            foreign += [(node, reason)] if reason else []
        elif not _is_shape_arithmetic(graph, node):
            result = CHANNELS_LAST if node.int("channels_last") else rule(graph, node, assumptions)
            if isinstance(result, Layer):
                behind = fused_behind(graph, result, derived)
                fused.update(one.index for one in behind)
                layers.append(replace(result, fused=behind) if behind else result)
            elif result == UNDECIDED:
                undecided.append(node)
            elif result is not None:
                foreign.append((node, result))
    return Lowered(tuple(layers), sum(layer.assumed for layer in layers), tuple(undecided), tuple(foreign))


def _complete(node: Node) -> bool:
    """A node without its inputs or outputs is the file's problem, reported as such."""
    return bool(node.inputs and node.outputs and node.inputs[0] and node.outputs[0])


def _is_shape_arithmetic(graph: Graph, node: Node) -> bool:
    return node.op_type in SHAPE_OPERATORS and graph.elem_type(node.outputs[0]) in INTEGERS
