"""Which files are models, by their names."""

from __future__ import annotations

ONNX = ".onnx"
TFLITE = ".tflite"
SUFFIXES = (ONNX, TFLITE)
"""Endings of the files that a search of folders finds."""
SKIPPED_FOLDERS = frozenset({"venv", "node_modules", "site-packages", "__pycache__"})
"""Folders a search does not enter unless they are named, like hidden ones: other people's models are in there."""


def is_tflite_path(path: str) -> bool:
    """Whether a file is read as a TensorFlow Lite model."""
    return path.lower().endswith(TFLITE)
