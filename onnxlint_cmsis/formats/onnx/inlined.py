"""A model's bytes with its external data inside."""

from __future__ import annotations

from pathlib import Path

from onnxlint_cmsis.formats.onnx.element_codes import read, write
from onnxlint_cmsis.formats.onnx.walk import all_tensors
from onnxlint_cmsis.formats.onnx.whole_model import whole_model


def inlined(data: bytes, beside: Path | None) -> bytes:
    """A model's bytes with external data, which lie beside the file `beside`, made part of it.

    Raises NotAppliedError for external data that are refused or missing, and for constants that are damaged.
    """
    if b"location" not in data:
        return data
    parsed = whole_model(data)
    for tensor in all_tensors(parsed):
        if tensor.data_location == tensor.EXTERNAL:
            write(tensor, read(tensor, str(beside or "-")))
    inlined_model: bytes = parsed.SerializeToString()
    return inlined_model
