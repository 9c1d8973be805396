"""The epilogue: nodes behind a layer's operator that its kernel computes too (bias, clamps, QuantizeLinear).

Kernels with weights start from a bias, and the kernels named here end in a clamp (`activation.min` and `.max` of their
parameters), so that a constant Add, Relu or Clip right behind them costs nothing and is no layer. In a quantized model
the kernel ends where QuantizeLinear gives the scale of its output. A clamp behind that is computed along only where
its own output has the same scale and zero-point, for then it clamps the same integers. In a float model a
normalization, and a constant factor for each channel, go into the weights as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Function
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.find_quantization import of_result
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.stored_types import STORED, dequantizes, quantizes, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Elements

CLAMPING = (
    *WEIGHTED,
    *(Function.BATCH_MATMUL, Function.ADD, Function.MUL, Function.AVERAGE_POOL, Function.MAX_POOL),
)
"""Functions whose parameters have a clamp."""
CLAMPS = ("Relu", "Clip")
LINEAR = ("Add", "Sub", "Mul", "Div")
_TRACELESS = (Elements.SAME, Elements.CAST, Elements.REQUANTIZED)
"""Elements of operators that only change the storage of numbers."""
REALS = ("float32", "float16", "float64", "bfloat16")
"""Element types of real numbers. A Cast to another type cuts off digits."""


class Epilogue(NamedTuple):
    """End of a layer."""

    tensor: str
    """Tensor that its kernel writes; of integers in a quantized model."""
    quantization: AffineQuantization | None = None
    """Of that tensor; None in a float model."""
    added: Node | None = None
    """Add whose constant is part of the bias; quantized models only."""
    clamps: tuple[Node, ...] = ()
    """Relu and Clip that the kernel computes along."""
    fused: tuple[Node, ...] = ()
    """Clamps and, in the weights, BatchNormalization, in order."""
    absorbed: tuple[Node, ...] = ()
    """All nodes that this layer computes and that are no layers therefore."""


def quantized_epilogue(graph: Graph, node: Node, clamping: bool, weighted: bool) -> Epilogue | Decision:
    """Follow a node's result to the QuantizeLinear that gives its scale; the reason where there is none."""
    own = of_result(graph, node)
    if own is not None or graph.elem_type(node.outputs[0]) in STORED:
        return _with_later_clamps(graph, Epilogue(node.outputs[0], own), clamping)
    added: Node | None = None
    clamps: list[Node] = []
    absorbed: list[Node] = []
    tensor = node.outputs[0]
    while True:
        reader = _reader(graph, tensor)
        if isinstance(reader, Decision):
            return reader
        if quantizes(reader):
            break
        if weighted and added is None and not clamps and _constant_add(graph, reader, tensor):
            added = reader
        elif is_clamp(graph, reader):
            clamps.append(reader)
        else:
            return no_kernel(Cause.FLOAT_RESULT, f"{reader.op_type} follows before its result is quantized")
        absorbed.append(reader)
        tensor = reader.outputs[0]
    fused = tuple(clamps)
    ended = Epilogue(reader.outputs[0], of_result(graph, reader), added, fused, fused, (*absorbed, reader))
    alone = len(graph.consumers[tensor]) == 1
    return _with_later_clamps(graph, ended, clamping) if alone else ended


def float_epilogue(graph: Graph, layer: Layer, derived: AbstractSet[str], *, stays_float: bool = False) -> Epilogue:
    """Follow a float layer through the nodes that its kernel computes too.

    `derived` are the values that are computed from constants alone. The kernel of a layer that stays float writes real
    numbers, so that it ends before a Cast to integers.
    """
    if layer.call.function not in CLAMPING:
        return Epilogue(layer.node.outputs[0])
    return _followed(graph, layer, derived, clamping=True, stays_float=stays_float)


def linear_epilogue(graph: Graph, layer: Layer, derived: AbstractSet[str]) -> Epilogue:
    """Follow a float layer into a kernel without a clamp: what goes into its weights and bias."""
    if layer.call.function not in WEIGHTED:
        return Epilogue(layer.node.outputs[0])
    return _followed(graph, layer, derived, clamping=False)


def _followed(
    graph: Graph, layer: Layer, derived: AbstractSet[str], *, clamping: bool, stays_float: bool = False
) -> Epilogue:
    tensor = layer.node.outputs[0]
    fused: list[Node] = []
    absorbed: list[Node] = []
    weighted = layer.call.function in WEIGHTED
    while (node := graph.only_reader(tensor)) is not None:
        clamp = is_clamp(graph, node)
        if clamp and not clamping:
            break
        if stays_float and graph.elem_type(node.outputs[0]) not in (*REALS, None):
            break
        weighted = weighted and not clamp
        if clamp or (weighted and canonical(node) == "BatchNormalization"):
            fused.append(node)
        elif operator_of(node).elements not in _TRACELESS and not (
            weighted and _per_channel(graph, layer, node, tensor, derived)
        ):
            break
        absorbed.append(node)
        tensor = node.outputs[0]
    return Epilogue(tensor, None, None, (), tuple(fused), tuple(absorbed))


def has_bias(node: Node, ending: Epilogue) -> bool:
    """Tell whether a layer of a quantized model has a bias: as an input, or as a constant added behind."""
    return ending.added is not None or node.has(operator_of(node).roles.bias)


def changes_weights(node: Node) -> bool:
    """Tell whether an absorbed node goes into weights and bias: no clamp, and none that only changes the storage."""
    return canonical(node) not in CLAMPS and operator_of(node).elements not in _TRACELESS


def is_clamp(graph: Graph, node: Node) -> bool:
    """Tell whether a node is Relu, or Clip with fixed bounds."""
    bounds = [name for name in node.inputs[1:] if name]
    return canonical(node) in CLAMPS and all(weights_behind(graph, name) is not None for name in bounds)


def _with_later_clamps(graph: Graph, ended: Epilogue, clamping: bool) -> Epilogue:
    """The epilogue with Relu or Clip behind a Q/DQ pair whose own result has the scale that the kernel writes."""
    while clamping and (pair := _later_clamp(graph, ended)) is not None:
        clamps = tuple(node for node in pair if canonical(node) in CLAMPS)
        ended = Epilogue(
            pair[-1].outputs[0], ended.quantization, ended.added, (*ended.clamps, *clamps), (*ended.fused, *clamps),
            (*ended.absorbed, *pair),
        )  # fmt: skip
    return ended


def _later_clamp(graph: Graph, ended: Epilogue) -> tuple[Node, ...] | None:
    """DequantizeLinear, clamps and QuantizeLinear that alone read a result and give it the same scale."""
    node = graph.only_reader(ended.tensor)
    if node is None or not dequantizes(node) or ended.quantization is None:
        return None
    pair = [node]
    while (node := graph.only_reader(pair[-1].outputs[0])) is not None and is_clamp(graph, node):
        pair.append(node)
    if len(pair) == 1 or node is None or not quantizes(node):
        return None
    last = of_result(graph, node)
    return (*pair, node) if last is not None and last.equals(ended.quantization) else None


def _reader(graph: Graph, tensor: str) -> Node | Decision:
    """The one node that reads a real result, or the first of several that give it the same integers."""
    readers = graph.consumers.get(tensor, ())
    if tensor in graph.ends or not readers:
        return no_kernel(Cause.FLOAT_RESULT, "its result leaves the model as float")
    if len(readers) > 1 and not _quantize_alike(graph, readers):
        return no_kernel(Cause.FLOAT_RESULT, f"{len(readers)} nodes read its result before it is quantized")
    if not readers[0].outputs:
        return no_kernel(Cause.FLOAT_RESULT, f"{readers[0].op_type} reads its result as float")
    return readers[0]


def _quantize_alike(graph: Graph, readers: Sequence[Node]) -> bool:
    """Tell if nodes quantize to one type, scale and zero-point: ONNX Runtime writes one for each branch if asked to."""
    numbers = [of_result(graph, node) if quantizes(node) else None for node in readers]
    first = numbers[0]
    return first is not None and all(other is not None and other.equals(first) for other in numbers)


def _constant_add(graph: Graph, node: Node, tensor: str) -> bool:
    others = [name for name in node.inputs if name != tensor]
    return canonical(node) == "Add" and len(others) == 1 and weights_behind(graph, others[0]) is not None


def _per_channel(graph: Graph, layer: Layer, node: Node, tensor: str, derived: AbstractSet[str]) -> bool:
    """Tell whether a node adds or multiplies by a constant with one number, or one for each channel of the layer."""
    others = [name for name in node.inputs if name != tensor]
    if canonical(node) not in LINEAR or len(others) != 1 or (canonical(node) == "Div" and node.inputs[0] != tensor):
        return False
    if others[0] not in graph.constants and others[0] not in derived:
        return False
    dense = layer.call.function is Function.FULLY_CONNECTED
    rank = len(graph.shape(layer.node.outputs[0]) or graph.shape(tensor) or ())
    return along_channels(graph.shape(others[0]), -1 if dense else 1 - rank, layer.call.output_dims.c)


def along_channels(shape: tuple[int | None, ...] | None, axis: int, channels: int | None) -> bool:
    """Tell whether a constant of this shape has one number, or one per channel along an axis counted from the last."""
    if shape is None:
        return False
    sizes = [size for size in shape if size != 1]
    return not sizes or (sizes == [channels] and len(shape) >= -axis and shape[axis] == channels)
