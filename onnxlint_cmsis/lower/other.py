"""Entry points without branches: pooling, element-wise, softmax, concatenation, data movement, LSTM."""

from __future__ import annotations

from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import UNDECIDED, Layer
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import data_type, weights_behind
from onnxlint_cmsis.lower.spatial import window
from onnxlint_cmsis.onnx_graph.graph import Graph, Node
from onnxlint_cmsis.types import Dims, KernelCall, Size

Shape = tuple[Size, ...]

_NONE = Dims(None, None, None, None)


def nhwc(shape: Shape | None) -> Dims:
    """An NCHW, NCW or lower-rank shape in NHWC; rank 2 is [n, 1, 1, c], rank 1 is [1, 1, 1, c]."""
    if shape is None or len(shape) > 4:
        return _NONE
    if len(shape) == 4:
        return Dims(shape[0], shape[2], shape[3], shape[1])
    if len(shape) == 3:
        return Dims(shape[0], 1, shape[2], shape[1])
    return Dims(shape[0] if len(shape) == 2 else 1, 1, 1, shape[-1] if shape else 1)


def lower_pool(graph: Graph, node: Node, assume: Assumptions) -> Layer | str:
    """MaxPool, AveragePool and the global ones; filter is [1, h, w, 1]."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    if len(shape) not in (3, 4):
        return f"CMSIS-NN pools over one or two dimensions, this one has {len(shape) - 2}"
    average = "Average" in node.op_type
    if not average and any(d != 1 for d in node.ints("dilations")):
        return "CMSIS-NN's pooling has no dilation"
    kernel = shape[2:] if node.op_type.startswith(("Global", "QLinearGlobal")) else node.ints("kernel_shape")
    kind, assumed = data_type(graph, node.inputs[0], "", assume)
    plane = window(node, shape[2:], kernel)
    call = KernelCall(
        f"{'avgpool' if average else 'max_pool'}_{_eight(kind)}",
        Dims(shape[0], plane.size.h, plane.size.w, shape[1]),
        Dims(1, plane.kernel.h, plane.kernel.w, 1),
        Dims(shape[0], plane.output.h, plane.output.w, shape[1]),
        plane.stride, plane.before, plane.after, plane.dilation,
    )  # fmt: skip
    return Layer(node, call, {}, 1, assumed)


def lower_elementwise(graph: Graph, node: Node, assume: Assumptions) -> Layer | str | None:
    """Add, Mul, Max, Min of two activations; a constant operand is a bias, scale or clip and makes no layer."""
    where = operands(node.domain, node.op_type)
    if len(node.inputs) <= where.weights:
        return None
    left, right = node.inputs[where.activation], node.inputs[where.weights]
    if weights_behind(graph, left) is not None or weights_behind(graph, right) is not None:
        return None
    kind, assumed = data_type(graph, left, "", assume)
    first, second = graph.shape(left), graph.shape(right)
    stem = _ELEMENTWISE[node.op_type]
    if first is None or second is None:
        return UNDECIDED
    if not first or not second:
        return None  # a scalar is a scale, not a layer's operand
    if first != second and stem.startswith("elementwise"):
        return (
            f"its operands have shapes {_text(first)} and {_text(second)}; arm_{stem}_{_eight(kind)} does not broadcast"
        )
    call = KernelCall(f"{stem}_{_eight(kind)}", nhwc(first), nhwc(second), nhwc(graph.shape(node.outputs[0])))
    return Layer(node, call, {}, 1, assumed)


def lower_plain(graph: Graph, node: Node, assume: Assumptions) -> Layer | str | None:
    """Operators whose call is only an input and an output: softmax, concatenation, pad, transpose, LSTM."""
    kind, assumed = data_type(graph, node.inputs[0], "", assume)
    output = next((name for name in node.outputs if name), "")
    if not output or weights_behind(graph, node.inputs[0]) is not None:
        return None
    stem = _PLAIN[node.op_type]
    call = KernelCall(f"{stem}_{_eight(kind)}", nhwc(graph.shape(node.inputs[0])), _NONE, nhwc(graph.shape(output)))
    return Layer(node, call, {}, 1, assumed)


def _eight(kind: str) -> str:
    """Kernels without weights know s8 and s16 only; a model with 4-bit weights has s8 activations."""
    return "s8" if kind == "s4" else kind


def _text(shape: Shape | None) -> str:
    return "?" if shape is None else "x".join("?" if s is None else str(s) for s in shape)


_ELEMENTWISE = {
    "Add": "elementwise_add",
    "QLinearAdd": "elementwise_add",
    "Mul": "elementwise_mul",
    "QLinearMul": "elementwise_mul",
    "Max": "maximum",
    "Min": "minimum",
}

_PLAIN = {
    "Softmax": "softmax",
    "QLinearSoftmax": "softmax",
    "Concat": "concatenation",
    "QLinearConcat": "concatenation",
    "LSTM": "lstm_unidirectional",
}
