"""The map from ONNX's axes to CMSIS-NN's: images are NHWC at run time, all else keeps its order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Dims, Size
from onnxlint_cmsis.lower.memory_order import channels_last
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.searches import Onward, along, among_all
from onnxlint_cmsis.operators.answers import Layout

Shape = tuple[Size, ...]


NO_DIMS = Dims(None, None, None, None)
"""Dims of an operand that a call does not have, or of which nothing is known."""


MAX_RANK = 4
"""Axes of `cmsis_nn_dims`."""


def nhwc(shape: Shape | None, missing: int = 1) -> Dims:
    """An NCHW, NCW or lower-rank shape in NHWC; rank 2 is [n, 1, 1, c], rank 1 is [1, 1, 1, c]."""
    if shape is None or len(shape) > 4:
        return NO_DIMS
    if len(shape) == 4:
        return Dims(shape[0], shape[2], shape[3], shape[1])
    if len(shape) == 3:
        return Dims(shape[0], missing, shape[2], shape[1])
    batch = shape[0] if len(shape) == 2 else missing
    return Dims(batch, missing, missing, shape[-1] if shape else missing)


def ordered(shape: Shape | None, missing: int = 1) -> Dims:
    """A shape of rank 4 or less as it stands, ones in front."""
    return NO_DIMS if shape is None or len(shape) > 4 else Dims(*(missing,) * (4 - len(shape)), *shape)


def dims_of(graph: Graph, *tensors: str) -> tuple[Dims, ...]:
    """Dims of activations of one layout: NHWC unless the order of the last one is known to be ONNX's."""
    plain = is_image(graph, tensors[-1]) is False
    return tuple(_laid_out(graph.shape(tensor), plain, 1) for tensor in tensors)


def broadcast_dims(graph: Graph, *tensors: str) -> tuple[Dims, ...]:
    """Dims of operands and their result as ONNX broadcasts them: shapes of a lower rank have ones in front."""
    shapes = [graph.shape(tensor) for tensor in tensors]
    rank = max(len(shape or ()) for shape in shapes)
    plain = is_image(graph, tensors[-1]) is False
    filled = [shape if shape is None else (*(1,) * (rank - len(shape)), *shape) for shape in shapes]
    return tuple(_laid_out(shape, plain, 1) for shape in filled)


def amounts_of(graph: Graph, tensor: str, amounts: Shape) -> Dims:
    """Amounts along the axes of an activation, in the order that `dims_of` gives its sizes in."""
    return _laid_out(amounts, is_image(graph, tensor) is False, 0)


def _laid_out(shape: Shape | None, plain: bool, missing: int) -> Dims:
    return ordered(shape, missing) if plain and len(shape or ()) > 2 else nhwc(shape, missing)


def is_image(graph: Graph, tensor: str) -> bool | None:
    """Tell whether an activation is an image, stored as NHWC: its producers decide, else who reads where they begin.

    None where nothing decides.
    """
    image: bool | None = along(graph, "image", tensor, partial(_made_as_image, graph))
    return image


def _made_as_image(graph: Graph, tensor: str) -> bool | Onward | None:
    node = graph.producers.get(tensor)
    if node is None or _to_nchw(node.ints("perm")):
        return read_as_image(graph, tensor)
    layout = operator_of(node).layout
    if layout is Layout.IMAGE or (layout is Layout.ORDERED and not _keeps_channels(graph, node)):
        return layout is Layout.IMAGE
    position = operator_of(node).roles.first
    return Onward(node.inputs[position]) if position < len(node.inputs) else None


def read_as_image(graph: Graph, tensor: str) -> bool | None:
    """Tell whether an operator on images reads a value, possibly behind others that keep the order of axes.

    False where one does that takes the order of axes as it stands, and none on images.
    """

    def kept(name: str) -> Iterator[str]:
        for reader in graph.consumers.get(name, ()):
            order = reader.ints("perm")
            if _takes_image(graph, reader) is None and (len(order) < 3 or order != channels_last(len(order))):
                yield from reader.outputs

    def told(name: str, behind: list[bool | None]) -> bool | None:
        takes = {*behind, *(_takes_image(graph, reader) for reader in graph.consumers.get(name, ()))}
        return True if True in takes else False if False in takes else None

    image: bool | None = among_all(graph, "read as image", tensor, kept, told)
    return image


def _takes_image(graph: Graph, reader: Node) -> bool | None:
    """Tell whether an operator is on images, or takes the order of axes as it stands; None for any other."""
    layout = operator_of(reader).layout
    if layout is Layout.IMAGE:
        return True
    ordered = _to_nchw(reader.ints("perm")) or (layout is Layout.ORDERED and not _keeps_channels(graph, reader))
    return False if ordered else None


def changes_layout_only(graph: Graph, node: Node, order: tuple[int, ...]) -> bool:
    """Tell whether a Transpose turns an image from NCHW to NHWC or back, which moves nothing in CMSIS-NN."""
    if len(order) > 2 and order == channels_last(len(order)) and is_image(graph, node.inputs[0]):
        return True
    return _to_nchw(order) and read_as_image(graph, node.outputs[0]) is True


def _to_nchw(order: tuple[int, ...]) -> bool:
    return len(order) > 2 and order == (0, len(order) - 1, *range(1, len(order) - 1))


def _keeps_channels(graph: Graph, node: Node) -> bool:
    """Tell whether a Reshape only joins or splits the plane of an image, behind its batch and channels."""
    shapes = [graph.shape(name) for name in (*node.inputs[:1], *node.outputs[:1])]
    if canonical(node) != "Reshape" or any(shape is None or len(shape) < 3 for shape in shapes):
        return False
    outer = [shape[:2] for shape in shapes if shape]
    return outer[0] == outer[1] and None not in outer[0]


def shape_text(shape: Shape | None) -> str:
    """A shape for messages: `1x?x8`."""
    return "?" if shape is None else "x".join("?" if size is None else str(size) for size in shape)
