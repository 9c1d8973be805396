"""Operators of TensorFlow Lite that cannot be proven."""

from __future__ import annotations

from onnxlint_cmsis.model.graph import TFLITE, Node

CUSTOM = ("AudioSpectrogram", "Mfcc", "NumericVerify", "TFLite_Detection_PostProcess")
"""Custom operators that LiteRT brings (core/kernels/register.cc)."""


def litert_refuses(node: Node) -> bool:
    """Tell whether LiteRT 2.3.0 refuses an operator, so that no fix of the file can be proven.

    CONV_2D needs a bias; DEPTHWISE_CONV_2D takes two inputs, but no third one that is left out. TensorFlow Lite Micro
    computes both.
    """
    if node.domain != TFLITE:
        return node.op_type not in CUSTOM
    convolves = node.op_type in ("CONV_2D", "DEPTHWISE_CONV_2D")
    return convolves and (not all(node.inputs[:3]) or len(node.inputs) < 2 + (node.op_type == "CONV_2D"))
