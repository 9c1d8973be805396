"""Turns ONNX layers into CMSIS-NN kernel calls: the only place where the words of both meet."""

from __future__ import annotations

from onnxlint_cmsis.lower.layer import Layer, Lowered
from onnxlint_cmsis.lower.table import lower

__all__ = ["Layer", "Lowered", "lower"]
