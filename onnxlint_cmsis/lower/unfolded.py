"""Constants behind a float layer that its weights could hold, and that ONNX Runtime's quantizer leaves where they are.

Its pre-processing folds them with the optimisations of level 1 (`GraphTransformerLevel::Level1`): ConvBNFusion,
ConvMulFusion, ConvAddFusion, MatMulBNFusion and MatMulAddFusion. All other pairs become layers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.epilogue import LINEAR, along_channels
from onnxlint_cmsis.model.graph import Graph, Node

DENSE = ("Gemm", "MatMul")
"""Layers whose channels are the last axis."""
NORMALIZATION = "BatchNormalization"
IMAGE_RANKS = (3, 4)
"""Axes of what a convolution reads: batch, channels, and one or two of space."""
LEFT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"Gemm": (*LINEAR, NORMALIZATION), "MatMul": ("Mul", "Div"), "Conv": ("Sub", "Div")}
)
"""Operators that ONNX Runtime leaves behind each layer. It makes a Gemm of a MatMul and the Add of its bias."""


class Unfolded(NamedTuple):
    """A node that could go into the weights of the layer in front."""

    layer: Node
    """Gemm, MatMul or Conv."""
    bias: Node | None
    """Add of a constant between them, behind a MatMul."""
    node: Node
    """What reads their result alone."""


def unfolded(graph: Graph) -> Iterator[Unfolded]:
    """All such nodes that stand right behind their layer, by the order of the layers."""
    for layer in graph.nodes:
        name = canonical(layer)
        if name not in LEFT or layer.domain or not _is_stored(graph, layer.inputs[1]):
            continue
        node, bias = graph.only_reader(layer.outputs[0]), None
        if name == "MatMul" and node is not None and canonical(node) == "Add" and _is_linear(graph, layer, node):
            name, bias, node = "Gemm", node, graph.only_reader(node.outputs[0])
        if node is None or canonical(node) not in LEFT[name]:
            continue
        if _is_normalization(graph, node) or _is_linear(graph, layer, node, bias):
            yield Unfolded(layer, bias, node)


def apart(graph: Graph) -> Iterator[Node]:
    """Normalizations of an image that stay layers: not right behind a layer of float whose weights they go into."""
    into = ("Conv", "ConvTranspose")
    for node in graph.nodes:
        if canonical(node) != NORMALIZATION or node.domain or len(graph.shape(node.inputs[0]) or ()) not in IMAGE_RANKS:
            continue
        producer = graph.producers.get(node.inputs[0])
        folds = producer is not None and canonical(producer) in into and graph.only_reader(node.inputs[0]) is node
        if not folds and _is_normalization(graph, node):
            yield node


def _is_stored(graph: Graph, tensor: str) -> bool:
    """Tell whether a tensor is a constant of float32."""
    constant = graph.constants.get(tensor)
    return constant is not None and not constant.overridable and constant.elem_type == "float32"


def _is_normalization(graph: Graph, node: Node) -> bool:
    numbers = node.inputs[1:5]
    return (
        canonical(node) == NORMALIZATION
        and not node.int("training_mode")
        and not any(node.outputs[1:])  # up to operator set 13 they alone ask for training
        and len(numbers) == 4
        and all(_is_stored(graph, name) for name in numbers)
    )


def _is_linear(graph: Graph, layer: Node, node: Node, bias: Node | None = None) -> bool:
    """Tell whether a node combines a layer's result with one constant, or one for each channel."""
    result = (bias or layer).outputs[0]
    others = [name for name in node.inputs if name != result]
    shape = graph.shape(layer.outputs[0])
    if canonical(node) not in LINEAR or len(others) != 1 or not shape or not _is_stored(graph, others[0]):
        return False
    if canonical(node) == "Div" and node.inputs[0] != result:
        return False
    axis = -1 if canonical(layer) in DENSE else 1 - len(shape)
    roles = operator_of(layer).roles
    known = canonical(layer) not in DENSE or len(graph.shape(layer.inputs[roles.second]) or ()) == 2
    return known and along_channels(graph.shape(others[0]), axis, shape[axis])
