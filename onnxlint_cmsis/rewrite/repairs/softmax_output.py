"""The scale and zero-point that CMSIS-NN gives Softmax's result, given to the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.softmax import function_output
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.requantize import Requantizing

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.affine_quantization import AffineQuantization
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def refusal(_graph: Graph, record: LoweredLayer) -> str:
    """Why the result cannot get that scale."""
    if function_output(record) is None:
        return "its result is not quantized to int8, uint8 or int16"
    return ""


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Change the scale and zero-point of the result and of all that reads it. Raises NotAppliedError."""
    fixed = function_output(record)
    if fixed is None or record.output is None or record.epilogue is None:
        return RepairMade("", ())
    wanted, words = fixed
    requantizing = Requantizing(edit)
    requantizing.give((record.epilogue.tensor,), wanted)
    zero = (wanted.zero_points or (0,))[0]
    text = f"writes scale {words} and zero-point {zero}, not {record.output.scale:.6g} and {_zero(record.output)}"
    told = [outputs_told(requantizing.outputs((record.epilogue.tensor,)), words, zero)]
    return RepairMade("; ".join(filter(None, (text, *told))), ())


def outputs_told(names: tuple[str, ...], scale: str, zero: int) -> str:
    """What whoever reads integers of the model has to change; empty where no output holds any."""
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return f"whoever reads output {listed} has to take scale {scale} and zero-point {zero} from now on"


def _zero(numbers: AffineQuantization) -> int:
    return (numbers.zero_points or (0,))[0]


SOFTMAX_OUTPUT = RepairRow(
    name="softmax-output",
    what="gives the result of Softmax scale 1/256 and the lowest integer as zero-point, in int16 1/32768 and 0, behind"
    " int8 1/65536 and -32768",
    hazards=frozenset(),
    price="a change of the outputs, of at most one step",
    free=True,
    refusal=refusal,
    apply=apply,
    rule="softmax-scale",
    causes=frozenset({Cause.SOFTMAX_SCALE.value}),
    exact=False,
)
