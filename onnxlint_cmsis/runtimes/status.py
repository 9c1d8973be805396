"""What a user sees of an error that a function of CMSIS-NN returns, by runtime."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, entry_parts
from onnxlint_cmsis.runtimes.runtime import TFLM

K = "tensorflow/lite/micro/kernels/cmsis_nn/"


class StatusUse(NamedTuple):
    """What a kernel of a runtime does with the status of a function."""

    functions: tuple[Function, ...]
    """Functions, whatever their types."""
    text: str
    """What the user sees, as a sentence."""
    source: str
    """File and lines."""
    halts: bool = False
    """Whether a build with checks halts."""

    @property
    def unseen(self) -> bool:
        """Tell whether no build looks at the status, so that wrong values go on."""
        return self.text == _UNSEEN


_DROPPED = (
    "TensorFlow Lite Micro checks the status in default builds alone, which halt; a release build (NDEBUG) drops it: "
    "the output keeps old bytes and Invoke returns kTfLiteOk"
)

_RETURNED = "In TensorFlow Lite Micro, Invoke returns an error"
_UNSEEN = "TensorFlow Lite Micro never looks at the status: the output keeps old bytes and Invoke returns kTfLiteOk"

STATUS_OF_TFLM = (
    StatusUse((Function.CONVOLVE,), _DROPPED, f"{K}conv.cc:313", halts=True),
    StatusUse((Function.DEPTHWISE,), _DROPPED, f"{K}depthwise_conv.cc:292", halts=True),
    StatusUse((Function.TRANSPOSE_CONV,), _DROPPED, f"{K}transpose_conv.cc:382", halts=True),
    StatusUse((Function.AVERAGE_POOL, Function.MAX_POOL), _DROPPED, f"{K}pooling.cc:96-141", halts=True),
    StatusUse((Function.SOFTMAX,), _DROPPED, f"{K}softmax.cc:129", halts=True),
    StatusUse((Function.TRANSPOSE,), _DROPPED, f"{K}transpose.cc:48", halts=True),
    StatusUse((Function.FULLY_CONNECTED,), _RETURNED, f"{K}fully_connected.cc:255-398"),
    StatusUse((Function.BATCH_MATMUL,), _RETURNED, f"{K}batch_matmul.cc:399, 469"),
    StatusUse((Function.ADD,), _UNSEEN, f"{K}add.cc"),
    StatusUse((Function.MUL,), _UNSEEN, f"{K}mul.cc"),
    StatusUse((Function.MAXIMUM, Function.MINIMUM), _UNSEEN, f"{K}maximum_minimum.cc"),
    StatusUse((Function.PAD,), _UNSEEN, f"{K}pad.cc"),
    StatusUse((Function.SVDF,), _UNSEEN, f"{K}svdf.cc"),
    StatusUse((Function.LSTM,), _UNSEEN, f"{K}unidirectional_sequence_lstm.cc:451, 468"),
)
"""Read at 90b983c2; conv.cc and depthwise_conv.cc were also run."""


def status_use(entry: str) -> StatusUse | None:
    """What TensorFlow Lite Micro does with the status of an entry point; None where that was not read."""
    function, _ = entry_parts(entry)
    return next((row for row in STATUS_OF_TFLM if function in row.functions), None)


def status_text(runtime: str, entry: str) -> str:
    """What becomes of an error of an entry point, as a sentence; empty where that was not read."""
    use = status_use(entry) if runtime == TFLM else None
    return f"{use.text} ({use.source})." if use else ""
