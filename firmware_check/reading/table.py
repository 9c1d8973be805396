"""Which function reads which operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_check.reading.unweighted import (
    build_activation,
    build_add,
    build_concat,
    build_mul,
    build_pad,
    build_pool,
    build_softmax,
)
from firmware_check.reading.weighted import build_convolution, build_dense, build_transpose

if TYPE_CHECKING:
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.onnx_graph.graph import Node

BUILDERS: dict[tuple[str, str], Callable[[Builder, Node], None]] = {
    ("", "Conv"): build_convolution,
    ("", "ConvTranspose"): build_transpose,
    ("", "Gemm"): build_dense,
    ("", "MatMul"): build_dense,
    ("", "AveragePool"): build_pool,
    ("", "MaxPool"): build_pool,
    ("", "GlobalAveragePool"): build_pool,
    ("", "GlobalMaxPool"): build_pool,
    ("", "Add"): build_add,
    ("", "Mul"): build_mul,
    ("", "Softmax"): build_softmax,
    ("", "Concat"): build_concat,
    ("", "Pad"): build_pad,
    ("", "Relu"): build_activation,
    ("", "Clip"): build_activation,
}

MOVES = ("Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
"""Operators that only move elements; layers behind them read the same memory in another way."""
