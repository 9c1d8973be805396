"""Other scales: those that CMSIS-NN gives Softmax's result, and one for all that a function copies integers between."""

from __future__ import annotations

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.softmax import function_output
from onnxlint_cmsis.model.graph import Graph


def refusal_of_softmax_output(_graph: Graph, record: LoweredLayer) -> str | None:
    """Why the result cannot get that scale."""
    if function_output(record) is None:
        return "its result is not quantized to int8, uint8 or int16"
    return None


SOFTMAX_OUTPUT = RepairRow(
    name="softmax-output",
    what="gives the result of Softmax scale 1/256 and the lowest integer as zero-point, in int16 1/32768 and 0, behind"
    " int8 1/65536 and -32768",
    price="a change of the outputs, of at most one step",
    free=True,
    unfit=refusal_of_softmax_output,
    rule="softmax-scale",
    causes=frozenset({Cause.SOFTMAX_SCALE.value}),
    exact=False,
)


def refusal_of_equal_scales(_graph: Graph, record: LoweredLayer) -> str | None:
    """Why input and output cannot get one scale."""
    known = all(numbers is not None and numbers.known and len(numbers.scales or ()) == 1 for numbers in record.inputs)
    return None if record.output is not None and known else "a scale of it is not known or not one for the whole tensor"


EQUAL_SCALES = RepairRow(
    name="equal-scales",
    what="gives what pools, Concat, Pad, Transpose, Max and Min read and write one scale and zero-point",
    price="a change of the outputs, of at most one step",
    free=True,
    unfit=refusal_of_equal_scales,
    rule="unequal-scales",
    causes=frozenset({Cause.UNEQUAL_SCALES.value}),
    exact=False,
)
