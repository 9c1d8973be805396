"""From a quantized ONNX model to a Program: integers, layouts, constants."""

from firmware_check.reading.read import read_program

__all__ = ["read_program"]
