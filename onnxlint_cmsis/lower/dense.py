"""Gemm, MatMul and their quantized relatives as fully connected or batch matrix products."""

from __future__ import annotations

from math import isfinite

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Size
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import Shape
from onnxlint_cmsis.lower.epilogue import along_channels
from onnxlint_cmsis.lower.find_quantization import of_input, of_weights, per_channel
from onnxlint_cmsis.lower.layer import Channel, Layer, product_of
from onnxlint_cmsis.lower.stored_types import data_type, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.product import swapped
from onnxlint_cmsis.operators.views import real_attribute


def lower_dense(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower a matrix product: constant right side -> fully connected, two activations -> batch matrix product.

    Fully connected: input [rows, 1, 1, depth], filter [depth, 1, 1, out_c], output [rows, 1, 1, out_c].
    """
    roles = operator_of(node).roles
    if not node.has(roles.second):
        return no_kernel(Cause.ATTRIBUTE, "it has one operand")
    left, right = node.inputs[roles.first], node.inputs[roles.second]
    a, b = graph.shape(left), graph.shape(right)
    if a is None or b is None:
        return UNDECIDED
    if weights_behind(graph, right) is None:
        return _batch_product(graph, node, assume, (left, right), (a, b))
    if len(b) != 2 or len(a) < 1:
        return no_kernel(Cause.RANK, f"its constant factor has rank {len(b)}; a fully connected layer has 2")
    wrong = _dense_not_expressible(graph, node, roles.bias, b)
    if wrong:
        return no_kernel(Cause.ATTRIBUTE, wrong)
    transposed = bool(node.int("transB"))
    depth, out_c = swapped(b, transposed)
    rows = product_of(*a[:-1])
    kind, assumed = data_type(graph, left, right, assume)
    weights = of_weights(graph, node, roles.second)
    call = KernelCall(
        Function.FULLY_CONNECTED.entry(kind),
        Dims(rows, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(rows, 1, 1, out_c),
        per_channel=per_channel(graph, node, roles.second, out_c) if kind == "s8" else None,
        weight_offset=weights is not None and any(weights.signed_zero_points),
    )  # fmt: skip
    channels = {"input_dims.c": Channel(right, int(transposed)), "output_dims.c": Channel(right, 1 - transposed)}
    return Layer(node, call, channels, 1, assumed, product_of(rows, depth, out_c))


def _dense_not_expressible(graph: Graph, node: Node, bias: int, weights: Shape) -> str | None:
    """Why a fully connected layer cannot express a Gemm; None where it can."""
    if node.int("transA"):
        return "its transA is set; CMSIS-NN's fully connected functions read rows of the input"
    alpha, beta = (real_attribute(node, name, 1.0) for name in ("alpha", "beta"))
    if not (isfinite(alpha) and isfinite(beta) and alpha > 0):
        return f"its alpha is {alpha:g}, its beta {beta:g}; weights and bias take in finite factors, alpha above 0"
    out_c = swapped(weights, bool(node.int("transB")))[-1]
    if node.has(bias) and not along_channels(graph.shape(node.inputs[bias]), -1, out_c):
        return "its C is not one number for each output channel, as a bias is"
    return None


def _batch_product(
    graph: Graph, node: Node, assume: Assumptions, names: tuple[str, str], shapes: tuple[Shape, Shape]
) -> Layer | Decision:
    """`arm_batch_matmul_*`: left [n, h, rows, depth], right [n, h, out_c, depth] (transposed)."""
    a, b = shapes
    if not (2 <= len(a) <= 4 and 2 <= len(b) <= 4):
        text = f"a product of ranks {len(a)} and {len(b)}; CMSIS-NN's batch matrix product has 2 to 4"
        return no_kernel(Cause.RANK, text)
    kind, assumed = data_type(graph, names[0], "", assume)
    a, b = swapped(a, bool(node.int("transA"))), swapped(b, bool(node.int("transB")))
    a, b = (1,) * (4 - len(a)) + a, (1,) * (4 - len(b)) + b
    batch, height = _broadcast(a[0], b[0]), _broadcast(a[1], b[1])
    macs = product_of(batch, height, a[2], a[3], b[3])
    if assume.stays_float:  # rows in c, the common length in w, and the right side transposed unless it is said
        adjoint = assume.floating._replace(packed=False, adj_x=bool(node.int("transA")), adj_y=not node.int("transB"))
        left, right = Dims(a[0], a[1], a[3], a[2]), Dims(b[0], b[1], b[2], b[3])
        result = Dims(batch, height, b[3], a[2])
        return Layer(
            node, KernelCall(Function.BATCH_MATMUL.entry(kind), left, right, result, floating=adjoint), macs=macs
        )
    stored = of_input(graph, node, operator_of(node).roles.second)
    call = KernelCall(
        Function.BATCH_MATMUL.entry(kind),
        Dims(*a), Dims(b[0], b[1], b[3], b[2]), Dims(batch, height, a[2], b[3]),
        # What is not quantized yet gets a zero-point, as activations do.
        weight_offset=kind == "s8" and (stored is None or any(stored.signed_zero_points)),
    )  # fmt: skip
    return Layer(node, call, {}, 1, assumed, macs)


def _broadcast(a: Size, b: Size) -> Size:
    return b if a == 1 else a
