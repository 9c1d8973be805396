"""Operators and integer types that plain code beside CMSIS-NN computes.

It is the code that the firmware check generates where CMSIS-NN has no function; runtimes have their own plain code.
"""

from __future__ import annotations

from onnxlint_cmsis.lower.verdict import Cause, Decision, plain, refused
from onnxlint_cmsis.types import entry_parts

PLAIN_TYPES: dict[str, tuple[str, ...]] = {
    "convolve": ("s8",),
    "transpose_conv": ("s8",),
    "fully_connected": ("s8",),
    "avgpool": ("s8",),
    "max_pool": ("s8",),
    "elementwise_add": ("s8",),
    "elementwise_mul": ("s8",),
    "softmax": ("s8",),
    "concatenation": ("s8",),
    "pad": ("s8",),
    "requantize": ("s8", "s16"),
    "lookup": ("s8",),
    "move": ("s8", "s16"),
    "transpose": ("s8", "s16"),
}
"""Stem of an entry point, or kind of plain code, to the types it is for."""

CURVES = frozenset(
    {
        *(("", name) for name in ("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp")),
        *(("", name) for name in ("Softplus", "Gelu")),
        *(("com.microsoft", name) for name in ("Gelu", "QLinearSigmoid", "QLinearLeakyRelu")),
    }
)
"""Operators that are a function of one int8 activation, which a table of 256 integers gives."""
ARITHMETIC = ("Add", "Sum", "Sub", "Mul", "Div")
"""Operators that become such a function with one number as the other operand."""


def stem_of(entry: str) -> str:
    """`elementwise_add` of `elementwise_add_s8`, `softmax` of `softmax_s8_s16`."""
    return entry_parts(entry)[0]


def in_plain_code(kind: str, stem: str, cause: Cause, reason: str) -> Decision:
    """Plain code where there is any for the type (`s8`, `s16`), else refused."""
    return plain(cause, reason, stem) if kind in PLAIN_TYPES.get(stem, ()) else refused(cause, reason)
