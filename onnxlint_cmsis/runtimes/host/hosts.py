"""Runtimes of a desktop."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Host(NamedTuple):
    """A runtime that a model is tried with before it runs on a device."""

    key: str
    """Name in JSON."""
    name: str
    """Name in messages."""
    measured: str
    """What was measured."""


LITERT = Host("litert", "LiteRT as it is shipped (XNNPACK)", "ai-edge-litert 2.3.0 on x86-64, one thread")
REFERENCE = Host("litert-reference", "LiteRT's reference kernels", "ai-edge-litert 2.3.0, BUILTIN_REF")
TFLITE_HOSTS = (LITERT, REFERENCE)
"""Those that read `.tflite` files."""
ORT = Host("onnxruntime", "ONNX Runtime, with optimisers or without", "onnxruntime 1.32.0 on x86-64")
"""What reads `.onnx` files: with optimisers in integer kernels that multiply by floats, without in floats."""

BOTH = (LITERT, REFERENCE)
SHIPPED, PLAIN = (LITERT,), (REFERENCE,)
