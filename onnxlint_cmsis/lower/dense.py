"""Gemm, MatMul and their relatives as fully connected or batch matrix products, and recurrent layers."""

from __future__ import annotations

from math import isfinite

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Size
from onnxlint_cmsis.lower.epilogue import along_channels
from onnxlint_cmsis.lower.layer import (
    NO_DIMS,
    UNDECIDED,
    Assumptions,
    Cause,
    Channel,
    Decision,
    Layer,
    Shape,
    no_kernel,
    product_of,
)
from onnxlint_cmsis.lower.quantization import (
    activation_type,
    data_type,
    is_zero,
    of_weights,
    per_channel,
    weights_behind,
)
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.record import real_attribute

# Gemm, MatMul and their quantized relatives as fully connected or batch matrix products.


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
    depth, out_c = _matrix(b, transposed)
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


def _dense_not_expressible(graph: Graph, node: Node, bias: int, weights: Shape) -> str:
    """Why a fully connected layer cannot express a Gemm; empty where it can."""
    if node.int("transA"):
        return "its transA is set; CMSIS-NN's fully connected functions read rows of the input"
    alpha, beta = (real_attribute(node, name, 1.0) for name in ("alpha", "beta"))
    if not (isfinite(alpha) and isfinite(beta) and alpha > 0):
        return f"its alpha is {alpha:g}, its beta {beta:g}; weights and bias take in finite factors, alpha above 0"
    out_c = _matrix(weights, bool(node.int("transB")))[-1]
    if node.has(bias) and not along_channels(graph.shape(node.inputs[bias]), -1, out_c):
        return "its C is not one number for each output channel, as a bias is"
    return ""


def _batch_product(
    graph: Graph, node: Node, assume: Assumptions, names: tuple[str, str], shapes: tuple[Shape, Shape]
) -> Layer | Decision:
    """`arm_batch_matmul_*`: left [n, h, rows, depth], right [n, h, out_c, depth] (transposed)."""
    a, b = shapes
    if not (2 <= len(a) <= 4 and 2 <= len(b) <= 4):
        text = f"a product of ranks {len(a)} and {len(b)}; CMSIS-NN's batch matrix product has 2 to 4"
        return no_kernel(Cause.RANK, text)
    kind, assumed = data_type(graph, names[0], "", assume)
    a, b = _matrix(a, bool(node.int("transA"))), _matrix(b, bool(node.int("transB")))
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
    call = KernelCall(
        Function.BATCH_MATMUL.entry(kind), Dims(*a), Dims(b[0], b[1], b[3], b[2]), Dims(batch, height, a[2], b[3])
    )
    return Layer(node, call, {}, 1, assumed, macs)


def _matrix(shape: Shape, transposed: bool) -> Shape:
    """The shape as the product sees it: the last two sizes swapped where the operator says so."""
    return (*shape[:-2], shape[-1], shape[-2]) if transposed and len(shape) > 1 else shape


def _broadcast(a: Size, b: Size) -> Size:
    return b if a == 1 else a


# LSTM as `arm_lstm_unidirectional_*`.


ACTIVATIONS = ("sigmoid", "tanh", "tanh")
"""Those of the gates, the cell and the output, in ONNX and in CMSIS-NN."""
INITIAL = slice(5, 7)
"""Positions of the hidden and the cell state that the first step starts from."""
SEQUENCE_LENS, PEEPHOLES = 4, 7
"""Positions of inputs that CMSIS-NN has no argument for."""


def lower_lstm(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower LSTM: input [batch, 1, time, features], output [batch, 1, time, hidden], either order of batch and time.

    `cmsis_nn_lstm_params` has `time_major`, and nothing for what `_not_expressible` names.
    """
    shape = graph.shape(node.inputs[0]) or (None, None, None)
    if len(shape) != 3:
        return no_kernel(Cause.RANK, f"its input has {len(shape)} axes; ONNX asks for 3")
    batch, time = shape[:2] if node.int("layout") else shape[1::-1]
    wrong = _recurrent_not_expressible(graph, node, time)
    if wrong:
        return no_kernel(Cause.ATTRIBUTE, wrong)
    features = shape[2]
    recurrent = graph.shape(node.inputs[2])
    hidden = node.int("hidden_size") or (recurrent[-1] if recurrent else None)
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    # Whether `initial_h` or `initial_c` is given and not zero throughout; None where its values are not known.
    zero = [is_zero(graph, name) for name in node.inputs[INITIAL] if name]
    call = KernelCall(
        Function.LSTM.entry(kind), Dims(batch, 1, time, features), NO_DIMS, Dims(batch, 1, time, hidden),
        initial_state=True if False in zero else None if None in zero else False,
        time_major=not node.int("layout"),
    )  # fmt: skip
    columns = None if features is None or hidden is None else features + hidden
    return Layer(node, call, {}, 1, assumed, product_of(batch, time, 4, hidden, columns))


def _recurrent_not_expressible(graph: Graph, node: Node, steps: Size) -> str:
    """Why CMSIS-NN's LSTM cannot compute this one; empty where it can."""
    direction = node.text("direction", "forward")
    named = node.attributes.get("activations")
    activations = tuple(str(name).lower() for name in named) if isinstance(named, tuple) else ACTIVATIONS
    lengths, peepholes = (node.inputs[at] if at < len(node.inputs) else "" for at in (SEQUENCE_LENS, PEEPHOLES))
    said = (
        (direction != "forward", f"its direction is {direction}; CMSIS-NN's LSTM runs forward only"),
        (
            activations != ACTIVATIONS,
            f"its activations are {', '.join(activations)}; CMSIS-NN's LSTM has {', '.join(ACTIVATIONS)}",
        ),
        (node.attributes.get("clip"), "it clips the cell's input (clip); CMSIS-NN's LSTM does not"),
        (
            node.int("input_forget"),
            "its input and forget gates are coupled (input_forget); CMSIS-NN's LSTM has both",
        ),
        (
            lengths and not _whole(graph, lengths, steps),
            "it has sequence_lens; CMSIS-NN's LSTM has no such argument",
        ),
        (
            peepholes and not is_zero(graph, peepholes),
            "it has peepholes (P); CMSIS-NN's LSTM has no such argument",
        ),
    )
    return next((text for holds, text in said if holds), "")


def _whole(graph: Graph, lengths: str, steps: Size) -> bool:
    """Whether every sequence is as long as the input, so that the lengths say nothing."""
    stored = weights_behind(graph, lengths)
    values = stored.values() if stored is not None and not stored.overridable else None
    return values is not None and all(value == steps for value in values)
