"""Gemm, MatMul and their quantized relatives as fully connected or batch matrix products."""

from __future__ import annotations

from math import isfinite, nan

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.epilogue import along_channels
from onnxlint_cmsis.lower.layer import Channel, Layer, product
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import of_weights, per_channel
from onnxlint_cmsis.lower.stored_types import data_type, weights_behind
from onnxlint_cmsis.lower.verdict import UNDECIDED, Cause, Decision, refused
from onnxlint_cmsis.types import Dims, KernelCall, Size

Shape = tuple[Size, ...]


def lower_dense(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower a matrix product: constant right side -> fully connected, two activations -> batch matrix product.

    Fully connected: input [rows, 1, 1, depth], filter [depth, 1, 1, out_c], output [rows, 1, 1, out_c].
    """
    where = operands(node.domain, node.op_type)
    if len(node.inputs) <= where.weights or not node.inputs[where.weights]:
        return refused(Cause.ATTRIBUTE, "it has one operand")
    left, right = node.inputs[where.activation], node.inputs[where.weights]
    a, b = graph.shape(left), graph.shape(right)
    if a is None or b is None:
        return UNDECIDED
    if weights_behind(graph, right) is None:
        return _batch_product(graph, node, assume, (left, right), (a, b))
    if len(b) != 2 or len(a) < 1:
        return refused(Cause.RANK, f"its constant factor has rank {len(b)}; a fully connected layer has 2")
    wrong = _not_expressible(graph, node, where.bias, b)
    if wrong:
        return refused(Cause.ATTRIBUTE, wrong)
    return _fully_connected(graph, node, assume, (left, right), (a, b))


def _fully_connected(
    graph: Graph, node: Node, assume: Assumptions, names: tuple[str, str], shapes: tuple[Shape, Shape]
) -> Layer:
    a, b = shapes
    where = operands(node.domain, node.op_type)
    transposed = bool(node.int("transB"))
    depth, out_c = _matrix(b, transposed)
    rows = product(*a[:-1])
    kind, assumed = data_type(graph, names[0], names[1], assume)
    weights = of_weights(graph, node, where.weights)
    call = KernelCall(
        f"fully_connected_{kind}", Dims(rows, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(rows, 1, 1, out_c),
        per_channel=per_channel(graph, node, where.weights, out_c) if kind == "s8" else None,
        weight_offset=weights is not None and any(weights.signed_zero_points),
    )  # fmt: skip
    channels = {"input_dims.c": Channel(names[1], int(transposed)), "output_dims.c": Channel(names[1], 1 - transposed)}
    return Layer(node, call, channels, 1, assumed, product(rows, depth, out_c))


def _not_expressible(graph: Graph, node: Node, bias: int, weights: Shape) -> str:
    """Why a fully connected layer cannot express a Gemm; empty where it can."""
    if node.int("transA"):
        return "its transA is set; CMSIS-NN's fully connected functions read rows of the input"
    alpha, beta = _factor(node, "alpha"), _factor(node, "beta")
    if not (isfinite(alpha) and isfinite(beta) and alpha > 0):
        return f"its alpha is {alpha:g}, its beta {beta:g}; weights and bias take in finite factors, alpha above 0"
    name = node.inputs[bias] if 0 <= bias < len(node.inputs) else ""
    out_c = _matrix(weights, bool(node.int("transB")))[-1]
    if name and not along_channels(graph.shape(name), -1, out_c):
        return "its C is not one number for each output channel, as a bias is"
    return ""


def _factor(node: Node, name: str) -> float:
    value = node.attributes.get(name, 1.0)
    return float(value) if isinstance(value, (int, float)) else nan


def _batch_product(
    graph: Graph, node: Node, assume: Assumptions, names: tuple[str, str], shapes: tuple[Shape, Shape]
) -> Layer | Decision:
    """`arm_batch_matmul_*`: left [n, h, rows, depth], right [n, h, out_c, depth] (transposed)."""
    a, b = shapes
    if not (2 <= len(a) <= 4 and 2 <= len(b) <= 4):
        text = f"a product of ranks {len(a)} and {len(b)}; CMSIS-NN's batch matrix product has 2 to 4"
        return refused(Cause.RANK, text)
    kind, assumed = data_type(graph, names[0], "", assume)
    a, b = _matrix(a, bool(node.int("transA"))), _matrix(b, bool(node.int("transB")))
    a, b = (1,) * (4 - len(a)) + a, (1,) * (4 - len(b)) + b
    batch, height = _broadcast(a[0], b[0]), _broadcast(a[1], b[1])
    call = KernelCall(f"batch_matmul_{kind}", Dims(*a), Dims(b[0], b[1], b[3], b[2]), Dims(batch, height, a[2], b[3]))
    return Layer(node, call, {}, 1, assumed, product(batch, height, a[2], a[3], b[3]))


def _matrix(shape: Shape, transposed: bool) -> Shape:
    """The shape as the product sees it: the last two sizes swapped where the operator says so."""
    return (*shape[:-2], shape[-1], shape[-2]) if transposed and len(shape) > 1 else shape


def _broadcast(a: Size, b: Size) -> Size:
    return b if a == 1 else a
