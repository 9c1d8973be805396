"""A model's bytes with its external data inside."""

from __future__ import annotations

from pathlib import Path

from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_tensors


def inlined(model: bytes | Path, beside: Path | None = None) -> bytes:
    """A model's bytes with external data, which lie beside the file or `beside`, made part of it.

    Raises NotAppliedError for external data that are refused or missing.
    """
    from onnx import ModelProto

    data = model if isinstance(model, bytes) else model.read_bytes()
    if b"location" not in data:
        return data
    place = beside if isinstance(model, bytes) else model
    parsed = ModelProto.FromString(data)
    for tensor in all_tensors(parsed):
        if tensor.data_location == tensor.EXTERNAL:
            tensor_codes.write(tensor, tensor_codes.read(tensor, str(place or "-")))
    inlined_model: bytes = parsed.SerializeToString()
    return inlined_model
