"""One scale and zero-point for all that a function copies integers between: pools, Concat, Pad, Transpose, Max, Min."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.lower.affine_quantization import AffineQuantization
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import of_integers
from onnxlint_cmsis.lower.shared_scales import common_of, holds, linked_groups, real_range
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.requantize import Requantizing
from onnxlint_cmsis.rewrite.repairs.softmax_output import outputs_told

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.shared_scales import Numbers
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def refusal(_graph: Graph, record: LoweredLayer) -> str:
    """Why input and output cannot get one scale."""
    known = all(each is not None and each.known and len(each.scales or ()) == 1 for each in record.inputs)
    return "" if record.output is not None and known else "a scale of it is not known or not one for the whole tensor"


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Give all tensors that hang together with the node's one scale and zero-point. Raises NotAppliedError."""
    requantizing = Requantizing(edit)
    group = _group(edit, requantizing, record)
    if not group:
        raise NotAppliedError("no tensor of the graph holds its integers")
    wanted = _wanted(edit.graph, requantizing, group)
    requantizing.give(tuple(group), wanted)
    zero = (wanted.zero_points or (0,))[0]
    told = outputs_told(requantizing.outputs(tuple(group)), f"{wanted.scale:.9g}", zero)
    text = f"reads and writes one scale, {wanted.scale:.6g}, and zero-point {zero}"
    return RepairMade("; ".join(filter(None, (text, told))), ())


def _group(edit: GraphEdit, requantizing: Requantizing, record: LoweredLayer) -> Numbers:
    """Integer tensors that need one quantization, with what they have."""
    name = requantizing.carriers.carrier
    found = linked_groups(edit.records, [record], name)
    ends = [(name(record.node.inputs[0]), record.inputs[0]), (name(record.node.outputs[0]), record.output)]
    if not found:
        return {tensor: numbers for tensor, numbers in ends if tensor and numbers is not None}
    return {tensor: numbers for group in found for tensor, numbers in group.items() if tensor}


def _wanted(graph: Graph, requantizing: Requantizing, group: Numbers) -> AffineQuantization:
    """What all of a group get: that of an input of the model where it is part of it. Raises NotAppliedError."""
    every = {name for tensor in group for name in requantizing.carriers.alike(tensor)}
    given = [numbers for name in sorted(every & {*graph.inputs}) if (numbers := of_integers(graph, name)) is not None]
    if not given:
        return _rounded(common_of(group.values()))
    if not all(holds(given[0], *real_range(numbers)) for numbers in (*given, *group.values())):
        raise NotAppliedError("an input of the model holds its integers, whose scale is too narrow for its output")
    return given[0]


def _rounded(numbers: AffineQuantization) -> AffineQuantization:
    """With the scale that float32 holds."""
    return numbers._replace(scales=tuple(float(np.float32(scale)) for scale in numbers.scales or ()))


EQUAL_SCALES = RepairRow(
    name="equal-scales",
    what="gives what pools, Concat, Pad, Transpose, Max and Min read and write one scale and zero-point",
    hazards=frozenset(),
    price="a change of the outputs, of at most one step",
    free=True,
    refusal=refusal,
    apply=apply,
    rule="unequal-scales",
    causes=frozenset({Cause.UNEQUAL_SCALES.value}),
    exact=False,
)
