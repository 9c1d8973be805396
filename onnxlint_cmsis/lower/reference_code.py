"""Operators and integer types that reference code computes.

It is the code that the firmware check generates where CMSIS-NN has no function; runtimes have their own.
"""

from __future__ import annotations

from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel, reference

REFERENCE_TYPES: dict[str, tuple[str, ...]] = {
    Function.CONVOLVE: ("s8",),
    Function.TRANSPOSE_CONV: ("s8",),
    Function.FULLY_CONNECTED: ("s8",),
    Function.AVERAGE_POOL: ("s8",),
    Function.MAX_POOL: ("s8",),
    Function.ADD: ("s8",),
    Function.MUL: ("s8",),
    Function.SOFTMAX: ("s8",),
    Function.CONCATENATION: ("s8",),
    Function.PAD: ("s8",),
    "requantize": ("s8", "s16"),
    "lookup": ("s8",),
    "move": ("s8", "s16"),
    Function.TRANSPOSE: ("s8", "s16"),
}
"""Function, or kind of reference code, to the types it is for."""


CURVES = ("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Softplus", "Gelu")
"""Operators that are a function of one int8 activation, which a table of 256 integers gives."""


ARITHMETIC = ("Add", "Sum", "Sub", "Mul", "Div")
"""Operators that become such a function with one number as the other operand."""


def in_reference_code(kind: str, code: str, cause: Cause, reason: str) -> Decision:
    """Reference code where there is any for the type (`s8`, `s16`), else none; `code`: a key of REFERENCE_TYPES."""
    return reference(cause, reason, str(code)) if kind in REFERENCE_TYPES.get(code, ()) else no_kernel(cause, reason)
