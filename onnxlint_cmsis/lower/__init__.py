"""Turns ONNX layers into CMSIS-NN kernel calls: the only place where the words of both meet."""

from __future__ import annotations

from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.verdict import Cause, Verdict

__all__ = ["Cause", "Layer", "Lowered", "LoweredLayer", "Verdict", "lower"]
