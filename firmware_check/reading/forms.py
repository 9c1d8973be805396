"""The forms of layers: the function of CMSIS-NN that computes one, by type and release, and the plain C beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.reading.unsupported import Unsupported

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.program import Step


class Function(NamedTuple):
    """A function of CMSIS-NN that generated C calls."""

    type: str
    """Type of the activations: `s8` or `s16`."""
    since: str
    """First release that the call is generated for."""
    name: str
    """C function."""


class Form(NamedTuple):
    """One kind of layer. Its name is that of the template's macro with the call."""

    functions: tuple[Function, ...] = ()
    """Functions for it, newest release of each type first; none where CMSIS-NN has no function."""
    plain: str = ""
    """Macro with the plain C; empty where there is none."""
    plain_types: tuple[str, ...] = ("s8",)
    """Types that the plain C is for."""
    apart: str = ""
    """What plain C computes although there is a function, for the documentation."""

    def function(self, kind: str, library: Library) -> str:
        """C function for a type in a copy's release, the oldest one where the release is before it."""
        names = [each for each in self.functions if each.type == kind]
        fitting = [each.name for each in names if library.since(each.since)]
        return fitting[0] if fitting else names[-1].name if names else ""


FORMS = {
    "convolve": Form(
        (Function("s8", "4.0.0", "arm_convolve_wrapper_s8"), Function("s16", "4.0.0", "arm_convolve_wrapper_s16")),
        "reference_convolve",
        apart="groups, before 6.0.0",
    ),
    "depthwise": Form(
        (
            Function("s8", "4.0.0", "arm_depthwise_conv_wrapper_s8"),
            Function("s16", "4.0.0", "arm_depthwise_conv_wrapper_s16"),
        )
    ),
    "transpose_conv": Form(
        (
            Function("s8", "7.0.0", "arm_transpose_conv_wrapper_s8"),
            Function("s8", "5.0.0", "arm_transpose_conv_s8"),
        ),
        "reference_transpose_conv",
    ),
    "fully_connected": Form(
        (
            Function("s8", "7.0.0", "arm_fully_connected_wrapper_s8"),
            Function("s8", "4.0.0", "arm_fully_connected_s8"),
            Function("s16", "4.0.0", "arm_fully_connected_s16"),
        ),
        "reference_fully_connected",
        apart="weights with a zero-point before 6.0.0, with several scales before 7.0.0",
    ),
    "avgpool": Form(
        (Function("s8", "4.0.0", "arm_avgpool_s8"), Function("s16", "4.0.0", "arm_avgpool_s16")),
        "reference_avgpool",
        apart="input and output of different scales, padding that is counted",
    ),
    "max_pool": Form(
        (Function("s8", "4.0.0", "arm_max_pool_s8"), Function("s16", "4.0.0", "arm_max_pool_s16")),
        "reference_max_pool",
        apart="input and output of different scales",
    ),
    "add": Form(
        (Function("s8", "4.0.0", "arm_elementwise_add_s8"), Function("s16", "4.0.0", "arm_elementwise_add_s16")),
        "reference_add",
        apart="an operand that is constant or broadcast",
    ),
    "mul": Form(
        (Function("s8", "4.0.0", "arm_elementwise_mul_s8"), Function("s16", "4.0.0", "arm_elementwise_mul_s16")),
        "reference_mul",
        apart="an operand that is constant or broadcast",
    ),
    "softmax": Form(
        (Function("s8", "4.0.0", "arm_softmax_s8"), Function("s16", "4.0.0", "arm_softmax_s16")),
        "reference_softmax",
        apart="an output that is not of scale 1/256 and zero-point -128",
    ),
    "concat": Form(
        (Function("s8", "4.0.0", "arm_concatenation_s8_x"),),
        "reference_concat",
        apart="inputs and output of different scales, more than 65535 elements to a row",
    ),
    "pad": Form((Function("s8", "7.0.0", "arm_pad_s8"),), "reference_pad"),
    "requantize": Form(plain="reference_requantize", plain_types=("s8", "s16")),
    "lookup": Form(plain="reference_lookup"),
    "move": Form(plain="reference_move", plain_types=("s8", "s16")),
}
"""Every form, by name."""


def formed(step: Step, library: Library) -> Step:
    """The layer with its C function, or in plain C where it has a `reason` or this copy has no such function.

    Raises:
        Unsupported: neither computes it.

    """
    form, kind = FORMS[step.form], _type(step)
    function = form.function(kind, library)
    reason = step.reason or _missing(step, kind, function, library)
    if not reason:
        return replace(step, function=function)
    if not form.plain:
        raise Unsupported(reason)
    if kind not in form.plain_types:
        raise Unsupported(f"{reason}, and plain C here is for int8 alone")
    return replace(step, form=form.plain, reason=reason)


def _missing(step: Step, kind: str, function: str, library: Library) -> str:
    if not function:
        return f"{step.op_type} has no form here for {kind} activations"
    return "" if library.has(function) else f"this copy of CMSIS-NN {library.release} has no {function}"


def _type(step: Step) -> str:
    """`s8` or `s16`; Unsupported where both meet or an int16 activation has a zero-point."""
    scales = [value.quantization for value in (*step.inputs, step.output)]
    if len({each.bits for each in scales}) > 1:
        raise Unsupported("it has int8 and int16 activations; CMSIS-NN's functions have one type")
    if scales[0].bits == 8:
        return "s8"
    zero_point = next((each.zero_point for each in scales if each.zero_point), 0)
    if zero_point:
        raise Unsupported(f"its int16 activations have the zero-point {zero_point}; CMSIS-NN's s16 functions take 0")
    return "s16"
