"""The form of a row on a kernel of TensorFlow Lite Micro: a check, or what the kernel does where none is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView

K = "tensorflow/lite/micro/kernels/"
Objection = str
"""What an operator has that its kernel does not take, as a clause."""
Condition = Callable[[OperatorView], Objection | None]
"""The objection of a kernel to an operator; None where it takes it.

Raises Unpredictable where the kernel reads a tensor that is not there.
"""
P = ParamSpec("P")


def condition(rule: Callable[Concatenate[OperatorView, P], Objection | None]) -> Callable[P, Condition]:
    """A condition with arguments beside the operator: operands, types."""
    return lambda *args, **more: lambda view: rule(view, *args, **more)


INNER = "tensorflow/lite/kernels/internal/reference/integer_ops"
RUNTIME_SHAPE = "tensorflow/lite/kernels/internal/runtime_shape.h"
BELOW_ONE = "tensorflow/lite/kernels/internal/quantization_util.cc:117"
ABOVE_ONE = "tensorflow/lite/kernels/internal/quantization_util.cc:109"


class OfLayer(NamedTuple):
    """What a row says of a layer of an ONNX model, which becomes an operator of the row."""

    reason: str
    """Why, as a clause."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layer too: the row holds for one of them alone."""
    level: Level | None = None
    """A milder level than the rule's."""
    sure: bool = True
    """False where what the converter writes decides."""


class KernelLimit(NamedTuple):
    """A check of a kernel, or a branch of it that only some operators take."""

    location: str
    """File and line, under K or from the root of the repository."""
    outcome: KernelOutcome
    """What happens where the condition is broken."""
    condition: Condition
    """What is broken."""
    advice: str = ""
    """What to do about it, where converting again helps."""
    since: str = ""
    """Day from which revisions have the check, ISO 8601; empty for all reviewed ones."""
    until: str = ""
    """Day from which they no longer have it; empty for all reviewed ones."""
    cause: str = ""
    """Cause of the finding, a key of its rule's table; empty for that of the layer, or the usual one of the outcome."""
    layer: OfLayer | None = None
    """What it says of layers of ONNX models; None where a file alone tells."""

    @property
    def key(self) -> str:
        """Cause of the finding; empty for the usual one of the outcome."""
        return self.cause or (self.layer.causes[0].value if self.layer and self.layer.causes else "")

    @property
    def source(self) -> str:
        """File and line from the root of the repository."""
        return self.location if self.location.startswith("tensorflow/") else K + self.location
