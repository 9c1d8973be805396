"""The real numbers of a stored constant: behind DequantizeLinear, and behind what only moves elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import UNCHANGED, Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray


Read = Callable[[str], "NDArray[Any] | None"]
"""Values of a stored constant by its key."""


_KEPT = UNCHANGED | {Elements.CAST, Elements.QUANTIZED}


_MOST_NODES = 32
"""Nodes between a constant and its reader."""


def real_values(graph: Graph, read: Read, tensor: str) -> NDArray[np.float64] | None:
    """The numbers that a reader of a tensor sees; None where they are not stored."""
    values = _values(graph, read, tensor, _MOST_NODES)
    return None if values is None else np.asarray(values, np.float64)


def _values(graph: Graph, read: Read, tensor: str, depth: int) -> NDArray[Any] | None:
    """The numbers of `real_values`, in the type that they are stored in where nothing computes with them."""
    if tensor in graph.constants:
        return read(tensor)
    node = graph.producers.get(tensor)
    if node is None or not node.inputs or not depth:
        return None
    operator = operator_of(node)
    inner = _values(graph, read, node.inputs[0], depth - 1)
    if inner is None:
        return None
    if operator.dequantizes:
        return _dequantized(graph, read, node, inner)
    if operator.elements is Elements.TRANSPOSED:
        order = node.permutation(inner.ndim)
        return None if order is None else np.asarray(inner.transpose(order))
    return _shaped(graph, tensor, inner) if operator.elements in _KEPT else None


def _shaped(graph: Graph, tensor: str, values: NDArray[Any]) -> NDArray[Any] | None:
    shape = graph.shape(tensor)
    if shape is None or None in shape or int(np.prod([size or 0 for size in shape])) != values.size:
        return None
    return values.reshape([size or 0 for size in shape])


def _dequantized(graph: Graph, read: Read, node: Node, values: NDArray[Any]) -> NDArray[np.float64] | None:
    scale = _values(graph, read, node.inputs[1], 1)
    zero = _values(graph, read, node.inputs[2], 1) if node.inputs[2] else np.zeros(1)
    if scale is None or zero is None or node.int("block_size"):
        return None
    return dequantized(values, scale, zero, node.int("axis", 1))


def dequantized(values: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], axis: int) -> NDArray[np.float64] | None:
    """Integers with their zero-points off and their scales on; None where these are not one for each place of an axis.

    A single scale or zero-point is that of all integers.
    """
    places = values.shape[axis] if -values.ndim <= axis < values.ndim else 1
    if scale.size not in (1, places) or zero.size not in (1, places):
        return None
    factors = along(scale, values.ndim, axis)
    if not zero.any():
        return np.asarray(np.multiply(values, factors, dtype=np.float64, casting="unsafe"))
    offset = along(zero, values.ndim, axis)
    shifted = np.asarray(np.subtract(values, offset, dtype=np.float64, casting="unsafe"))
    return np.asarray(np.multiply(shifted, factors, out=shifted))


def along(numbers: NDArray[Any], rank: int, axis: int) -> NDArray[Any]:
    """One number for all, or one for each place along an axis, ready to be combined with a tensor of that rank."""
    if numbers.size == 1:
        return numbers.reshape(())
    shape = [1] * rank
    shape[axis] = numbers.size
    return numbers.reshape(shape)
