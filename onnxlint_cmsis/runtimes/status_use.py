"""What a user sees of an error that a function of CMSIS-NN returns, by runtime."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import entry_parts

K = "tensorflow/lite/micro/kernels/cmsis_nn/"


class StatusUse(NamedTuple):
    """What a kernel of a runtime does with the status of a function."""

    stems: tuple[str, ...]
    """Entry points without their type."""
    text: str
    """What the user sees, as a sentence."""
    source: str
    """File and lines."""


_DROPPED = (
    "TensorFlow Lite Micro checks the status in default builds alone, which halt; a release build (NDEBUG) drops it: "
    "the output keeps old bytes and Invoke returns kTfLiteOk"
)
_RETURNED = "In TensorFlow Lite Micro, Invoke returns an error"
_UNSEEN = "TensorFlow Lite Micro never looks at the status: the output keeps old bytes and Invoke returns kTfLiteOk"

TFLM = (
    StatusUse(("convolve", "convolve_1x1"), _DROPPED, f"{K}conv.cc:313"),
    StatusUse(("depthwise",), _DROPPED, f"{K}depthwise_conv.cc:292"),
    StatusUse(("transpose_conv",), _DROPPED, f"{K}transpose_conv.cc:382"),
    StatusUse(("avgpool", "max_pool"), _DROPPED, f"{K}pooling.cc:96-141"),
    StatusUse(("softmax",), _DROPPED, f"{K}softmax.cc:129"),
    StatusUse(("transpose",), _DROPPED, f"{K}transpose.cc:48"),
    StatusUse(("fully_connected",), _RETURNED, f"{K}fully_connected.cc:255-398"),
    StatusUse(("batch_matmul",), _RETURNED, f"{K}batch_matmul.cc:399, 469"),
    StatusUse(("elementwise_add",), _UNSEEN, f"{K}add.cc"),
    StatusUse(("elementwise_mul",), _UNSEEN, f"{K}mul.cc"),
    StatusUse(("maximum", "minimum"), _UNSEEN, f"{K}maximum_minimum.cc"),
    StatusUse(("pad",), _UNSEEN, f"{K}pad.cc"),
    StatusUse(("svdf",), _UNSEEN, f"{K}svdf.cc"),
    StatusUse(("lstm_unidirectional",), _UNSEEN, f"{K}unidirectional_sequence_lstm.cc:451, 468"),
)
"""Read at 90b983c2; conv.cc and depthwise_conv.cc were also run."""


def status_text(runtime: str, entry: str) -> str:
    """What becomes of an error of an entry point, as a sentence; empty where that was not read."""
    stem, _ = entry_parts(entry)
    rows = TFLM if runtime == "tflm" else ()
    return next((f"{row.text} ({row.source})." for row in rows if stem in row.stems), "")
