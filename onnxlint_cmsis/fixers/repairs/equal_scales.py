"""One scale and zero-point for all that a function copies integers between: pools, Concat, Pad, Transpose, Max, Min."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.requantizing import Requantizing, outputs_told
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.find_quantization import of_integers
from onnxlint_cmsis.lower.shared_scales import ScaleNumbers, common_of, holds, linked_groups, real_range

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.quantization import AffineQuantization
    from onnxlint_cmsis.model.graph import Graph


def apply_equal_scales(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
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


def _group(edit: GraphEdit, requantizing: Requantizing, record: LoweredLayer) -> ScaleNumbers:
    """Integer tensors that need one quantization, with what they have."""
    name = requantizing.carriers.carrier
    groups = linked_groups(edit.records, [record], name)
    ends = [(name(record.node.inputs[0]), record.inputs[0]), (name(record.node.outputs[0]), record.output)]
    if not groups:
        return {tensor: numbers for tensor, numbers in ends if tensor and numbers is not None}
    return {tensor: numbers for group in groups for tensor, numbers in group.items() if tensor}


def _wanted(graph: Graph, requantizing: Requantizing, group: ScaleNumbers) -> AffineQuantization:
    """What all of a group get: that of an input of the model where it is part of it. Raises NotAppliedError."""
    every = {name for tensor in group for name in requantizing.carriers.alike(tensor)}
    given = [numbers for name in sorted(every & {*graph.inputs}) if (numbers := of_integers(graph, name)) is not None]
    if not given:
        common = common_of(group.values())
        return common._replace(scales=tuple(float(np.float32(scale)) for scale in common.scales or ()))
    if not all(holds(given[0], *real_range(numbers)) for numbers in (*given, *group.values())):
        raise NotAppliedError("an input of the model holds its integers, whose scale is too narrow for its output")
    return given[0]
