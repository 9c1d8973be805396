"""What to do about nodes that the firmware does not run, where there is something to do."""

from __future__ import annotations

from collections.abc import Iterable

ADVICE = {
    "its weights are not quantized": (
        "weights are float between quantized activations: quantize them too, to int8 with a scale for each output"
        " channel (ONNX Runtime's quantize_static with weight_type=QInt8 does), or give the float model, which is"
        " quantized here"
    ),
}
"""Reason of a node, to the advice."""


def advice_on(reasons: Iterable[str]) -> list[str]:
    """Advice for the reasons that there is any for, each once."""
    return list(dict.fromkeys(ADVICE[reason] for reason in reasons if reason in ADVICE))
