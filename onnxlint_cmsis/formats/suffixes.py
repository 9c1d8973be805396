"""Which files are models, by their names."""

from __future__ import annotations

ONNX = ".onnx"
TFLITE = ".tflite"
SUFFIXES = (ONNX, TFLITE)
"""Endings of the files that a search of folders finds."""


def is_tflite_path(path: str) -> bool:
    """Whether a file is read as a TensorFlow Lite model."""
    return path.lower().endswith(TFLITE)
