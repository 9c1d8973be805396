"""The forms of layers: the function of CMSIS-NN that computes one, by type and release, and the reference code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.program import Step
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.cmsis_nn.tables import wrapper_of
from onnxlint_cmsis.lower.reference_code import REFERENCE_TYPES

if TYPE_CHECKING:
    from firmware_check.library import Library


class CFunction(NamedTuple):
    """A function of CMSIS-NN that generated C calls."""

    type: str
    """Type of the activations, `s8` or `s16`, `s8_s16` for int8 in and int16 out, `s4` for weights of 4 bits."""
    since: str
    """First release that the call is generated for."""
    name: str
    """C function."""


class LayerForm(NamedTuple):
    """One kind of layer. Its name is that of the template's macro with the call."""

    functions: tuple[CFunction, ...] = ()
    """Functions for it, newest release of each type first; none where CMSIS-NN has no function."""
    plain: str = ""
    """Macro with the reference code; empty where there is none."""
    code: str = ""
    """Kind of reference code in the linter's words, where the form has another name."""
    apart: str = ""
    """What reference code computes although there is a function, for the documentation."""

    def function(self, kind: str, library: Library) -> str:
        """C function for a type in a copy's release, the oldest one where the release is before it."""
        names = [function for function in self.functions if function.type == kind]
        fitting = [function.name for function in names if library.since(function.since)]
        return fitting[0] if fitting else names[-1].name if names else ""


FORMS = {
    "convolve": LayerForm(
        (
            CFunction("s8", "4.0.0", "arm_convolve_wrapper_s8"),
            CFunction("s16", "4.0.0", "arm_convolve_wrapper_s16"),
            CFunction("s4", "5.0.0", "arm_convolve_wrapper_s4"),
        ),
        "reference_convolve",
    ),
    "depthwise": LayerForm(
        (
            CFunction("s8", "4.0.0", "arm_depthwise_conv_wrapper_s8"),
            CFunction("s16", "4.0.0", "arm_depthwise_conv_wrapper_s16"),
            CFunction("s4", "5.0.0", "arm_depthwise_conv_wrapper_s4"),
        )
    ),
    "transpose_conv": LayerForm(
        (
            CFunction("s8", "7.0.0", "arm_transpose_conv_wrapper_s8"),
            CFunction("s8", "5.0.0", "arm_transpose_conv_s8"),
        ),
        "reference_transpose_conv",
    ),
    "fully_connected": LayerForm(
        (
            CFunction("s8", "7.0.0", "arm_fully_connected_wrapper_s8"),
            CFunction("s8", "4.0.0", "arm_fully_connected_s8"),
            CFunction("s16", "4.0.0", "arm_fully_connected_s16"),
            CFunction("s4", "5.0.0", "arm_fully_connected_s4"),
        ),
        "reference_fully_connected",
        apart="weights with a zero-point before 6.0.0, with several scales before 7.0.0",
    ),
    "avgpool": LayerForm(
        (CFunction("s8", "4.0.0", "arm_avgpool_s8"), CFunction("s16", "4.0.0", "arm_avgpool_s16")),
        "reference_avgpool",
        apart="input and output of different scales, padding that is counted",
    ),
    "max_pool": LayerForm(
        (CFunction("s8", "4.0.0", "arm_max_pool_s8"), CFunction("s16", "4.0.0", "arm_max_pool_s16")),
        "reference_max_pool",
        apart="input and output of different scales",
    ),
    "add": LayerForm(
        (
            CFunction("s8", "4.0.0", "arm_elementwise_add_s8"),
            CFunction("s16", "4.0.0", "arm_elementwise_add_s16"),
        ),
        "reference_add",
        "elementwise_add",
        apart="an operand that is constant or broadcast",
    ),
    "mul": LayerForm(
        (
            CFunction("s8", "4.0.0", "arm_elementwise_mul_s8"),
            CFunction("s16", "4.0.0", "arm_elementwise_mul_s16"),
        ),
        "reference_mul",
        "elementwise_mul",
        apart="an operand that is constant or broadcast",
    ),
    "maximum": LayerForm((CFunction("s8", "7.0.0", "arm_maximum_s8"),)),
    "minimum": LayerForm((CFunction("s8", "7.0.0", "arm_minimum_s8"),)),
    "softmax": LayerForm(
        (
            CFunction("s8", "4.0.0", "arm_softmax_s8"),
            CFunction("s16", "4.0.0", "arm_softmax_s16"),
            CFunction("s8_s16", "4.0.0", "arm_softmax_s8_s16"),
        ),
        "reference_softmax",
        apart="an output that is not of scale 1/256 and zero-point -128",
    ),
    "concat": LayerForm(
        (CFunction("s8", "4.0.0", "arm_concatenation_s8_x"),),
        "reference_concat",
        "concatenation",
        apart="inputs and output of different scales, more than 65535 elements to a row",
    ),
    "pad": LayerForm((CFunction("s8", "7.0.0", "arm_pad_s8"),), "reference_pad"),
    "requantize": LayerForm(plain="reference_requantize"),
    "lookup": LayerForm(plain="reference_lookup"),
    "move": LayerForm(plain="reference_move"),
}
"""Every form, by name."""

CODES = {form.code or name: name for name, form in FORMS.items()}
"""Stem of an entry point, or kind of reference code, to the form."""


def formed(step: Step, library: Library) -> Step:
    """The layer with its C function, or in reference code where it has a `reason` or this copy has no such function.

    Raises:
        Unsupported: no code computes it.

    """
    if step.output.quantization.floating:
        return _floating(step, library)
    form, kind = FORMS[step.form], _type(step)
    function = form.function(kind, library)
    reason = step.reason
    if not reason and not library.has(function):
        reason = f"this copy of CMSIS-NN {library.release} has no {function or f'function for it in {kind}'}"
    if not reason:
        return replace(step, function=function)
    if not form.plain or kind not in REFERENCE_TYPES[form.code or step.form]:
        raise Unsupported(reason)
    return replace(step, form=form.plain, reason=reason)


def _floating(step: Step, library: Library) -> Step:
    """The layer with its function for f32 or f16, as the linter's tables name it."""
    assert step.call is not None
    function = wrapper_of(step.call.entry).function.replace("[wxyz]", "x")
    if not library.has(function):
        raise Unsupported(f"this copy of CMSIS-NN {library.release} has no {function}")
    return replace(step, function=function)


def _type(step: Step) -> str:
    """Type of a layer's function."""
    if step.call is not None and step.call.types == "s4":
        return "s4"
    if step.call is not None and step.call.types == "s8_s16":
        return "s8_s16"
    return f"s{step.output.quantization.bits}"
