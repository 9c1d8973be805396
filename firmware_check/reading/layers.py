"""Layers of an ONNX model as kernel calls with their numbers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
