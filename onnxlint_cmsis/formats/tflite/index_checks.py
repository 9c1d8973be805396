"""Every index of a `.tflite` file names something that is there; otherwise the runtimes read beside their arrays."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel
from onnxlint_cmsis.formats.tflite.flat_file import damaged

OMITTED = -1
"""Index of an optional input that is not given."""
MAX_RANK = 64
"""TFLite's kernels stop at rank 8; a larger number here only bounds the work."""


def check_indices(model: TfliteModel) -> None:
    """Raise ModelError (`not-tflite`) for the first index or size that cannot be."""
    if not model.subgraphs:
        raise damaged("it has no subgraph")
    for number, subgraph in enumerate(model.subgraphs):
        _check_tensors(model, number, subgraph)
        _check_operators(number, subgraph)
    for name, buffer in model.metadata:
        _within(f"metadata '{name}'", "buffer", (buffer,), len(model.buffers))
    for signature in model.signatures:
        _check_signature(model, signature.key, signature.subgraph, (*signature.inputs, *signature.outputs))


def _check_tensors(model: TfliteModel, number: int, subgraph: Subgraph) -> None:
    for index, tensor in enumerate(subgraph.tensors):
        where = f"tensor {index} of subgraph {number}"
        _within(where, "buffer", (tensor.buffer,), len(model.buffers))
        if len(tensor.shape) > MAX_RANK:
            raise damaged(f"{where} has {len(tensor.shape)} dimensions; at most {MAX_RANK} are allowed")
        if any(size < -1 for size in tensor.shape):
            raise damaged(f"{where} has shape {list(tensor.shape)}; a size is at least 0, or -1 where it is unknown")
        if tensor.quantization and any(abs(scale) == float("inf") for scale in tensor.quantization.scales):
            raise damaged(f"{where} has an infinite scale")


def _check_operators(number: int, subgraph: Subgraph) -> None:
    count = len(subgraph.tensors)
    _within(f"subgraph {number}", "tensor", (*subgraph.inputs, *subgraph.outputs), count)
    for index, operator in enumerate(subgraph.operators):
        where = f"operator {index} ({operator.title}) of subgraph {number}"
        read = (tensor for tensor in operator.inputs if tensor != OMITTED)
        inner = (tensor for tensor in operator.intermediates if tensor != OMITTED)
        _within(where, "tensor", (*read, *operator.outputs, *inner), count)


def _check_signature(model: TfliteModel, key: str, subgraph: int, tensors: Iterable[tuple[str, int]]) -> None:
    where = f"signature '{key}'"
    _within(where, "subgraph", (subgraph,), len(model.subgraphs))
    count = len(model.subgraphs[subgraph].tensors)
    _within(where, "tensor", (index for _, index in tensors), count)


def _within(where: str, what: str, indices: Iterable[int], count: int) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise damaged(f"{where} names {what} {index}; the file has {count}, counted from 0")
