"""What to do about a layer for which the release has no kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.epilogue import along_channels
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.means import window_of_mean
from onnxlint_cmsis.lower.outcome import Outcome
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
    Cause.AXIS: "Transpose in front, so that it runs over the last axis.",
    Cause.BROADCAST: "Give both operands one shape.",
    Cause.OPERAND_CONSTANT: "Nothing: reference code computes it.",
    Cause.OPERAND_COMPUTED: "Nothing, or make the operand a constant.",
}
"""What to do about each cause."""
OWN_CODE = "Write it in the application, or train without it."
"""What to do where neither CMSIS-NN nor other known code computes it."""
POOL = "{pool}"
"""What stands in a remedy for the pools of the nodes that it is about."""
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


def _is_largest_of_plane(graph: Graph, node: Node) -> bool:
    """Tell whether a maximum is over all axes behind batch and channels."""
    shape = graph.shape(node.inputs[0]) or ()
    taken = {axis % len(shape) for axis in _axes(graph, node)} if shape else set()
    return len(shape) in (3, 4) and taken == {*range(2, len(shape))}


def _pool(graph: Graph, node: Node) -> str:
    """The pool of PyTorch that computes a mean or maximum: `nn.AvgPool2d((25, 5))`, `nn.MaxPool1d(100)`."""
    shape, axes = graph.shape(node.inputs[0]) or (), _axes(graph, node)
    if _is_over_time(graph, node):
        return f"nn.AvgPool1d({shape[axes[0]]})"
    kind, window = ("Max", shape[2:]) if canonical(node) == "ReduceMax" else ("Avg", window_of_mean(graph, node))
    return f"nn.{kind}Pool{len(window)}d({tuple(window) if len(window) > 1 else window[0]})"


def with_pools(remedy: str, graph: Graph, nodes: Iterable[Node]) -> str:
    """A remedy with the pools that compute its nodes, each once."""
    if POOL not in remedy:
        return remedy
    pools = [*dict.fromkeys(_pool(graph, node) for node in nodes)]
    return remedy.replace(POOL, and_more(pools, 3))


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


def _is_selection(graph: Graph, node: Node) -> bool:
    """Tell whether a Gather takes one constant index."""
    given = graph.constants.get(node.inputs[1]) if node.has(1) else None
    return given is not None and prod(given.shape) == 1


def _is_packed(graph: Graph, node: Node) -> bool:
    """Tell whether the first axis has queries, keys and values, as nn.MultiheadAttention lays them."""
    return (graph.shape(node.inputs[0]) or ())[:1] == (3,)


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
        "Pad by a Pad node in front of it instead, which computes the same, and which ONNX Runtime leaves there.",
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
        f"Train it as a max pool of that window: in PyTorch {POOL}.",
        _is_largest_of_plane,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Sub",),
        "Write a - b as a + b * -1: --fix of the float model puts the factor into the layer that makes b.",
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
        f"Use that pool, which computes the same: in PyTorch {POOL}.",
        lambda graph, node: bool(window_of_mean(graph, node)),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("ReduceMean",),
        f"Pool over time behind a transpose: in PyTorch {POOL} of x.transpose(1, 2).",
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
        "Train with three nn.Linear in place of nn.MultiheadAttention, whose one layer is taken apart.",
        lambda graph, node: _is_selection(graph, node) and not node.int("axis") and _is_packed(graph, node),
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Gather",),
        "Slice instead, which reference code copies: in PyTorch x[:, -1:] in place of x[:, -1].",
        _is_selection,
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Split",),
        "Slice instead, which reference code copies: in PyTorch x[..., :32] and so on in place of chunk or split.",
    ),
    Way(
        _REFUSED,
        Cause.NO_FUNCTION,
        ("Expand",),
        "Nothing: quant_pre_process of ONNX Runtime's quantizer folds it.",
        lambda graph, node: weights_behind(graph, node.inputs[0]) is not None,
    ),
    Way(_REFUSED, Cause.NO_FUNCTION, ("Erf",), "Train with Relu in place of Gelu, or write it in the application."),
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
        "Train with BatchNormalization, which goes into the weights, or write it in the application.",
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


def remedy_of(graph: Graph, node: Node, decision: Decision) -> str:
    """What to do about a node, as a sentence, in which POOL may stand for a pool of its size."""
    for way in WAYS:
        alike = (way.verdict, way.cause) == (decision.verdict, decision.cause)
        if alike and canonical(node) in way.operators and way.when(graph, node):
            return way.do
    if decision.verdict is not Outcome.REFERENCE and decision.cause in (Cause.NO_FUNCTION, Cause.OPERAND_CONSTANT):
        return OWN_CODE
    return DO[decision.cause]
