"""Which function lowers which operator, and the pass over a graph."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.lower.convolution import lower_convolution, lower_transpose
from onnxlint_cmsis.lower.dense import lower_dense
from onnxlint_cmsis.lower.layer import Layer, Lowered
from onnxlint_cmsis.lower.other import lower_elementwise, lower_plain, lower_pool
from onnxlint_cmsis.onnx_graph.derived import derived_values
from onnxlint_cmsis.onnx_graph.graph import Graph, Node

Rule = Callable[[Graph, Node, str], "Layer | str | None"]

LOWERINGS: dict[tuple[str, str], Rule] = {
    ("", "Conv"): lower_convolution,
    ("", "ConvInteger"): lower_convolution,
    ("", "QLinearConv"): lower_convolution,
    ("com.microsoft", "FusedConv"): lower_convolution,
    ("", "ConvTranspose"): lower_transpose,
    ("", "Gemm"): lower_dense,
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
    ("", "Softmax"): lower_plain,
    ("com.microsoft", "QLinearSoftmax"): lower_plain,
    ("", "Concat"): lower_plain,
    ("com.microsoft", "QLinearConcat"): lower_plain,
    ("", "LSTM"): lower_plain,
}

INTEGER_SHAPES = frozenset({"int64", "int32", "bool"})
"""Element types of shape arithmetic, which is no layer."""


def lower(graph: Graph, assume: str = "s8") -> Lowered:
    """Lower every node that has a form in CMSIS-NN and depends on the input, in file order.

    `assume` is the data type of layers that compute in float: `s8`, `s16` or `s4`.
    """
    layers: list[Layer] = []
    unsupported: list[tuple[Node, str]] = []
    derived = derived_values(graph)
    for node in graph.nodes:
        rule = LOWERINGS.get((node.domain, node.op_type))
        if rule is None or not _complete(node) or _is_shape_arithmetic(graph, node) or node.outputs[0] in derived:
            continue
        result = rule(graph, node, assume)
        if isinstance(result, Layer):
            layers.append(result)
        elif result is not None:
            unsupported.append((node, result))
    return Lowered(tuple(layers), sum(layer.assumed for layer in layers), tuple(unsupported))


def _complete(node: Node) -> bool:
    """A node without its inputs or outputs is the file's problem, reported as such."""
    return bool(node.inputs and node.outputs and node.inputs[0] and node.outputs[0])


def _is_shape_arithmetic(graph: Graph, node: Node) -> bool:
    return node.op_type in ("Add", "Mul", "Max", "Min", "Concat") and graph.elem_type(node.outputs[0]) in INTEGER_SHAPES
