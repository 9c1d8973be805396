"""What to do about a layer for which the release has no kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.epilogue import along_channels
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.means import window_of_largest, window_of_mean
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.pieces import pieces
from onnxlint_cmsis.lower.reference_code import ARITHMETIC, CURVES
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes, weights_behind
from onnxlint_cmsis.lower.unfolded import DENSE, IMAGE_RANKS
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.runtimes.remark import REPEATED

DO = {
    Cause.NO_FUNCTION: "Train with an operator that CMSIS-NN has, or leave it to reference code.",
    Cause.RANK: "Reshape it to the dimensions that the function takes: a channel shuffle of one image needs no batch "
    "axis.",
    Cause.ATTRIBUTE: "Train it without that, or write it in the application.",
    Cause.AXIS: "Transpose in front, so that it runs over the last axis as stored, or leave it to reference code.",
    Cause.BROADCAST: "Give both operands one shape.",
    Cause.OPERAND_CONSTANT: "Nothing: reference code computes it.",
    Cause.OPERAND_COMPUTED: "Nothing, or make the operand a constant.",
}
"""What to do about each cause."""
OWN_CODE = "Write it in the application, or train without it."
"""What to do where neither CMSIS-NN nor other known code computes it."""
SIZED = "{sized}"
"""What stands in a remedy for code of PyTorch with the sizes of the nodes that it is about."""
END = "End the model in front of it, and compute the rest in the application."
"""What to do about a node behind all layers with weights."""
FAR = 200
"""Nodes behind a node above which it does not count as one near the end."""
NOTHING = "Nothing: reference code copies the elements."
"""What to do about copies; such a finding is a note."""


class Way(NamedTuple):
    """What to do about operators of which more is known."""

    verdict: Outcome
    """Who computes them."""
    cause: Cause
    """Why CMSIS-NN does not."""
    operators: tuple[str, ...]
    """The operators."""
    do: str
    """What to do, as a sentence."""
    when: Callable[[Graph, Node], bool] = lambda _graph, _node: True
    """Whether it helps a node."""


def _is_square(graph: Graph, node: Node) -> bool:
    """Tell whether a Pow has the exponent 2."""
    exponent = graph.constants.get(node.inputs[1]) if node.has(1) else None
    return exponent is not None and exponent.values() == (2,)


def _is_over_time(graph: Graph, node: Node) -> bool:
    """Tell whether a mean of `[batch, time, features]`, or of `[time, 1, features]`, is over time."""
    shape, axes = graph.shape(node.inputs[0]) or (), _axes(graph, node)
    return len(shape) == 3 and (axes in ((1,), (-2,)) or (axes in ((0,), (-3,)) and shape[1] == 1))


def _axes(graph: Graph, node: Node) -> tuple[int, ...]:
    """Axes of a reduction, an attribute or a constant; none where they are not known."""
    given = graph.constants.get(node.inputs[1]) if node.has(1) else None
    return node.ints("axes") or (given.integers() if given is not None else None) or ()


def _pool(graph: Graph, node: Node) -> str:
    """The pool of PyTorch that computes a mean or maximum: `nn.AvgPool2d((25, 5))`, `nn.MaxPool1d(100)`."""
    shape, axes = graph.shape(node.inputs[0]) or (), _axes(graph, node)
    if _is_over_time(graph, node):
        return f"nn.AvgPool1d({shape[axes[0]]})"
    largest = window_of_largest(graph, node)
    kind, window = ("Max", largest) if largest else ("Avg", window_of_mean(graph, node))
    return f"nn.{kind}Pool{len(window)}d({tuple(window) if len(window) > 1 else window[0]})"


def _sized(graph: Graph, node: Node) -> str:
    """The pool that computes a node, or the piece that it takes: `x[:, 8:16]`."""
    taken = pieces(graph, node)
    return f"x{taken[0].indices}" if taken else _pool(graph, node)


def with_sizes(remedy: str, graph: Graph, nodes: Iterable[Node]) -> str:
    """A remedy with the code of PyTorch for its nodes, each once."""
    if SIZED not in remedy:
        return remedy
    return remedy.replace(SIZED, and_more([*dict.fromkeys(_sized(graph, node) for node in nodes)], 3))


def _is_near_end(graph: Graph, node: Node) -> bool:
    """Tell whether a node stands behind all layers with weights, and few nodes stand behind it."""
    waiting, seen = [node], {node.index}
    while waiting:
        readers = (reader for name in waiting.pop().outputs for reader in graph.consumers.get(name, ()))
        for reader in readers:
            if operator_of(reader).roles.weights or reader.graph or len(seen) > FAR:
                return False
            if reader.index not in seen:
                seen.add(reader.index)
                waiting.append(reader)
    return not node.graph


def _is_of_sizes_alone(graph: Graph, tensor: str) -> bool:
    """Tell whether a tensor is computed of sizes and constants."""
    pending, seen = [tensor], {""}
    while pending:
        name = pending.pop()
        if name in seen or name in graph.constants:
            continue
        seen.add(name)
        producer = graph.producers.get(name)
        if producer is None:
            return False
        if canonical(producer) not in ("Shape", "Size"):
            pending.extend(producer.inputs)
    return True


def _is_of_sizes(graph: Graph, node: Node) -> bool:
    """Tell whether a node computes on sizes and constants."""
    return _is_of_sizes_alone(graph, node.inputs[0])


def _is_unsized(graph: Graph, node: Node) -> bool:
    """Tell whether a size of what a node reads is not known."""
    return None in (graph.shape(node.inputs[0]) or (None,))


def _constant_position(graph: Graph, node: Node) -> int | None:
    """Which of two operands is a constant; None where none is."""
    roles = operator_of(node).roles
    positions = (position for position in (roles.first, roles.second) if node.has(position))
    return next((position for position in positions if weights_behind(graph, node.inputs[position])), None)


def _is_foldable(graph: Graph, node: Node) -> bool:
    """Tell whether weights and bias of the layer in front can take the constant in, before they are quantized."""
    constant, roles = _constant_position(graph, node), operator_of(node).roles
    if constant is None or (canonical(node) == "Div" and constant == roles.first):
        return False
    layer = _layer_in_front(graph, node.inputs[roles.first + roles.second - constant])
    return layer is not None and _takes_in(graph, layer, node.inputs[constant])


def _layer_in_front(graph: Graph, tensor: str) -> Node | None:
    """The layer with weights whose result, quantized or not, one node reads; None where there is none."""
    while len(graph.consumers.get(tensor, ())) == 1 and (producer := graph.producers.get(tensor)):
        if operator_of(producer).roles.weights:
            return producer
        if not (quantizes(producer) or dequantizes(producer)):
            return None
        tensor = producer.inputs[0]
    return None


def _is_behind(graph: Graph, node: Node, layers: tuple[str, ...]) -> bool:
    """Tell whether a node stands behind one of these layers, and its numbers could go into the weights."""
    layer = _layer_in_front(graph, node.inputs[0])
    return layer is not None and canonical(layer) in layers


def _takes_in(graph: Graph, layer: Node, constant: str) -> bool:
    """Tell whether a layer of constant weights has one channel for each number of a constant."""
    weights = layer.inputs[operator_of(layer).roles.weights[0]]
    if weights_behind(graph, weights) is None or canonical(layer) == "ConvTranspose":
        return False  # neither folds into a ConvTranspose
    shape = graph.shape(layer.outputs[0])
    if not shape:
        return False
    axis = -1 if canonical(layer) in ("Gemm", "MatMul") else 1 - len(shape)
    return along_channels(graph.shape(constant), axis, shape[axis])


def _is_float_constant(graph: Graph, node: Node) -> bool:
    """Tell whether the activation of an operator is quantized, and its constant is not."""
    roles, constant = operator_of(node).roles, _constant_position(graph, node)
    if constant is None or canonical(node) not in ("Add", "Mul"):
        return False
    other = roles.first + roles.second - constant
    return of_input(graph, node, constant) is None and of_input(graph, node, other) is not None


_REFERENCE, _REFUSED = Outcome.REFERENCE, Outcome.NO_KERNEL
_WINDOWS = ("Conv", "ConvTranspose", "AveragePool", "MaxPool")
WAYS = (
    Way(
        _REFERENCE,
        Cause.NO_FUNCTION,
        ("Slice", "Resize", "Upsample"),
        NOTHING,
    ),
    Way(
        _REFERENCE,
        Cause.NO_FUNCTION,
        ("Clip", "Relu"),
        "Put it right behind a Conv, Gemm or Add, which then clamps along, or leave it to reference code.",
    ),
    Way(
        _REFERENCE,
        Cause.NO_FUNCTION,
        CURVES,
        "Train with Relu, which costs nothing behind a Conv, or leave it to reference code.",
    ),
    Way(
        _REFERENCE,
        Cause.ATTRIBUTE,
        ("AveragePool",),
        "Quantize it as a depthwise layer of equal weights, which computes the same: --fix of the float model makes "
        "one. Or train with count_include_pad=False.",
    ),
    *(
        Way(
            verdict,
            Cause.OPERAND_CONSTANT,
            ARITHMETIC,
            "Fold the constant into the layer in front before that is quantized: run --fix on the float model, then "
            "ONNX Runtime's quant_pre_process.",
            _is_foldable,
        )
        for verdict in (_REFERENCE, _REFUSED)
    ),
    Way(
        _REFUSED,
        Cause.OPERAND_CONSTANT,
        ARITHMETIC,
        "Quantize the constant too, which reference code takes.",
        _is_float_constant,
    ),
    Way(
        _REFUSED,
        Cause.OPERAND_CONSTANT,
        ("Conv", "ConvTranspose", "Gemm", "MatMul"),
        "Quantize its result in front of the constant too.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Resize", "Upsample"),
        "Take nearest neighbours and whole factors, which reference code has, or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("DepthToSpace",),
        "Train with nn.ConvTranspose2d(channels, outputs, r, stride=r) in place of nn.PixelShuffle(r) and the layer in "
        "front, or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("ReduceMax",),
        f"Use that pool, which computes the same: in PyTorch {SIZED}.",
        lambda graph, node: bool(window_of_largest(graph, node)),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Sub",),
        "Write a - b as a + b * -1, as --fix of the float model does. The factor goes into the weights of a layer that "
        "makes b; else reference code multiplies.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("ReduceSum",),
        "Train with a Linear of one output in place of the sum, or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Sqrt",),
        "Export with torch.onnx.export(..., dynamo=True): it is then a constant, as it is one of sizes.",
        _is_of_sizes,
    ),
    Way(
        _REFUSED,
        Cause.OPERAND_COMPUTED,
        ("Slice",),
        "Nothing: quant_pre_process of ONNX Runtime's quantizer makes its bounds constants.",
        lambda graph, node: all(_is_of_sizes_alone(graph, name) for name in node.inputs[1:] if name),
    ),
    Way(_REFUSED, Cause.NO_FUNCTION, ("Pow",), "Write the square as Mul of the tensor with itself.", _is_square),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("ReduceMean",),
        f"Use that pool, which computes the same: in PyTorch {SIZED}.",
        lambda graph, node: bool(window_of_mean(graph, node)),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("ReduceMean",),
        f"Pool over time behind a transpose: in PyTorch {SIZED} of x.transpose(1, 2).",
        _is_over_time,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("BatchNormalization",),
        "Fold it into the layer in front before that is quantized: ONNX Runtime's quant_pre_process does it.",
        lambda graph, node: _is_behind(graph, node, ("Conv", "ConvTranspose")),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("BatchNormalization",),
        "Fold it into the layer in front before that is quantized: --fix of the float model does it, or in PyTorch "
        "torch.nn.utils.fusion.fuse_linear_bn_eval.",
        lambda graph, node: _is_behind(graph, node, DENSE),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("BatchNormalization",),
        "Quantize it as a depthwise layer, which computes the same: --fix of the float model makes one, or in PyTorch "
        "nn.Conv2d(channels, channels, 1, groups=channels) with its numbers.",
        lambda graph, node: len(graph.shape(node.inputs[0]) or ()) in IMAGE_RANKS,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Gather",),
        f"Slice instead, which reference code copies: in PyTorch {SIZED} in place of the index alone.",
        lambda graph, node: bool(pieces(graph, node)),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Gather", "Split"),
        "Export with torch.onnx.export(..., dynamo=True), which writes the sizes of what it reads: they are not known "
        "here.",
        _is_unsized,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Split",),
        f"Slice instead, which reference code copies: in PyTorch {SIZED} and so on in place of chunk, split or glu.",
        lambda graph, node: bool(pieces(graph, node)),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Expand",),
        "Nothing: quant_pre_process of ONNX Runtime's quantizer folds it.",
        lambda graph, node: weights_behind(graph, node.inputs[0]) is not None,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Expand", "Tile"),
        "Concatenate it with itself: in PyTorch torch.cat([x] * 25, 1) in place of x.repeat(1, 25, 1) or expand.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Erf",),
        "Train with Relu in place of Gelu, or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.ATTRIBUTE,
        ("LSTM",),
        "Train a Conv over time, or convert an LSTM that runs forward only from Keras.",
        lambda _graph, node: node.text("direction", "forward") == "bidirectional",
    ),
    Way(
        _REFERENCE,
        Cause.BROADCAST,
        ARITHMETIC,
        REPEATED,
        lambda graph, node: _constant_position(graph, node) is None,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("GRU", "RNN"),
        "Train a Conv over time, convert an LSTM from Keras, or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("PRelu",),
        "Train with Relu, which costs nothing behind a Conv, or with LeakyRelu, which reference code computes.",
    ),
    Way(_REFUSED, Cause.NO_FUNCTION, ("LogSoftmax",), "Use Softmax, in which the largest stays the largest."),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("LayerNormalization", "InstanceNormalization", "GroupNormalization"),
        "Train with BatchNormalization, which goes into the weights of a layer in front; elsewhere --fix of the float "
        "model makes a depthwise layer of it. Or write it in the application.",
    ),
    Way(
        _REFUSED,
        Cause.ATTRIBUTE,
        ("Add", "Sum", "Max", "Min"),
        "Write it as several of two operands each.",
        lambda _graph, node: len(node.inputs) > 2,
    ),
    Way(_REFUSED, Cause.ATTRIBUTE, ("ConvTranspose",), "Train it with group 1 and dilations of 1."),
    Way(
        _REFUSED,
        Cause.ATTRIBUTE,
        ("Pad",),
        "Train with constant padding, or write it in the application.",
        lambda _graph, node: node.text("mode", "constant") != "constant",
    ),
    Way(
        _REFUSED,
        Cause.ATTRIBUTE,
        ("Gemm",),
        "Transpose its input in front.",
        lambda _graph, node: bool(node.int("transA")),
    ),
    Way(_REFUSED, Cause.RANK, _WINDOWS, "Train it with one or two spatial dimensions."),
)
"""The first that fits is said in place of DO and OWN_CODE."""


def known_remedy(graph: Graph, node: Node, decision: Decision) -> str:
    """What to do about an operator of which more is known than the cause; empty for others."""
    for way in WAYS:
        alike = (way.verdict, way.cause) == (decision.verdict, decision.cause)
        if alike and canonical(node) in way.operators and way.when(graph, node):
            return way.do
    return ""


def remedy_of(graph: Graph, node: Node, decision: Decision) -> str:
    """What to do about a node, as a sentence, in which SIZED may stand for code with its sizes."""
    known = known_remedy(graph, node, decision)
    if known:
        return known
    if decision.verdict is not Outcome.REFERENCE and decision.cause in (Cause.NO_FUNCTION, Cause.OPERAND_CONSTANT):
        return END if decision.cause is Cause.NO_FUNCTION and _is_near_end(graph, node) else OWN_CODE
    return DO[decision.cause]
