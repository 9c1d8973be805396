"""Values of constants as numpy arrays, read one at a time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.ground.types import fits_an_array
from onnxlint_cmsis.model.graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tensors_by_key(model: TfliteModel, graph: Graph) -> dict[str, TfliteTensor]:
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
    import numpy as np

    if tensor.encoding or not fits_an_array(tensor.shape):
        return None
    count, data = prod(tensor.shape), model.bytes_of(tensor.buffer)
    if tensor.elem_type in ("INT4", "UINT4"):
        if len(data) * 2 < count:
            return None
        packed = np.frombuffer(data, np.uint8)
        codes = np.stack((packed & 15, packed >> 4), axis=-1).reshape(-1)[:count].reshape(tensor.shape)
        return (codes ^ 8).astype(np.int8) - np.int8(8) if tensor.elem_type == "INT4" else codes
    try:
        kind = np.dtype(tensor.elem_type.lower()).newbyteorder("<")
    except TypeError:
        return None
    if kind.kind not in "fiub" or len(data) < count * kind.itemsize:
        return None
    return np.frombuffer(data, kind, count).astype(kind.newbyteorder("=")).reshape(tensor.shape)


def stored_bytes(model: TfliteModel) -> int:
    """Bytes of the values of all constants, each buffer once."""
    buffers = {tensor.buffer for subgraph in model.subgraphs for tensor in subgraph.tensors}
    return sum(model.buffers[buffer].length for buffer in buffers)
