"""Constants of a `.tflite` file as numpy arrays, read one at a time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
    from onnxlint_cmsis.model.graph import Graph


NIBBLES = {"INT4": np.int8, "UINT4": np.uint8}
"""Element types with two elements to a byte; the numpy type of their values."""


def constant_tensors(model: TfliteModel, graph: Graph) -> dict[str, TfliteTensor]:
    """The file's tensor of each constant, by its key in the graph."""
    return {key: tensor for key, tensor in graph_tensors(model, graph).items() if key in graph.constants}


def graph_tensors(model: TfliteModel, graph: Graph) -> dict[str, TfliteTensor]:
    """The file's tensor of each key, read off the operators: both have them in one order."""
    by_offset = {node.offset: node for node in graph.nodes}
    by_key: dict[str, TfliteTensor] = {}
    for subgraph in model.subgraphs:
        for operator in subgraph.operators:
            node = by_offset.get(operator.span.offset)
            for keys, indices in ((node.inputs, operator.inputs), (node.outputs, operator.outputs)) if node else ():
                by_key |= {key: subgraph.tensors[index] for key, index in zip(keys, indices, strict=True) if key}
    return by_key


def array_of(model: TfliteModel, tensor: TfliteTensor) -> NDArray[Any] | None:
    """Values of one constant, of its shape; 4-bit integers one to an element. None where bytes or sizes are damaged."""
    if tensor.encoding or min(tensor.shape, default=0) < 0:
        return None
    if prod(filter(None, tensor.shape)) > 2**59:  # numpy takes no larger shape, even where a size is 0
        return None
    count, data = prod(tensor.shape), model.bytes_of(tensor.buffer)
    if tensor.elem_type in NIBBLES:
        return _unpacked(data, count, tensor)
    try:
        kind = np.dtype(tensor.elem_type.lower()).newbyteorder("<")
    except TypeError:
        return None
    if kind.kind not in "fiub" or len(data) < count * kind.itemsize:
        return None
    return np.frombuffer(data, kind, count).astype(kind.newbyteorder("=")).reshape(tensor.shape)


def _unpacked(data: bytes, count: int, tensor: TfliteTensor) -> NDArray[Any] | None:
    if len(data) * 2 < count:
        return None
    packed = np.frombuffer(data, np.uint8)
    codes = np.stack((packed & 15, packed >> 4), axis=-1).reshape(-1)[:count]
    if tensor.elem_type == "INT4":
        codes = (codes ^ 8).astype(np.int8) - np.int8(8)
    return codes.astype(NIBBLES[tensor.elem_type]).reshape(tensor.shape)


def stored_bytes(model: TfliteModel) -> int:
    """Bytes of the values of all constants, each buffer once."""
    buffers = {tensor.buffer for subgraph in model.subgraphs for tensor in subgraph.tensors}
    return sum(model.buffers[buffer].length for buffer in buffers)
