"""Whether two files are equal for every input, for another reason than that they have the same bytes."""

from __future__ import annotations

import onnx

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX, TFLITE


def tflite_equal(old: bytes, new: bytes) -> bool:
    """Whether files are equal for every input, for another reason than that they have the same bytes."""
    return verify(*(TFLITE.load("m.tflite", data) for data in (old, new + bytes(4)))).equal


def onnx_equal(old: onnx.ModelProto, new: onnx.ModelProto) -> bool:
    """Whether files are equal for every input, for another reason than that they have the same bytes."""
    other = onnx.ModelProto.FromString(new.SerializeToString())
    other.doc_string = "another file"
    return verify(*(ONNX.load("m.onnx", model.SerializeToString()) for model in (old, other))).equal
