"""The bytes of a model as what a proof compares, by its file's name."""

from __future__ import annotations

from pathlib import Path

from onnxlint_cmsis.formats.onnx_graph.inline_external import inlined
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.proof.onnx_model import OnnxModel
from onnxlint_cmsis.proof.proven_model import ProvenModel


def proven_model(data: bytes, beside: Path | None) -> ProvenModel:
    """A model; `beside` is its file, None for ONNX in memory. Raises NotAppliedError, ModelError."""
    if beside is not None and is_tflite_path(str(beside)):
        from onnxlint_cmsis.proof.tflite_model import TfliteProvenModel

        return TfliteProvenModel(str(beside), data)
    return OnnxModel(inlined(data, beside))
