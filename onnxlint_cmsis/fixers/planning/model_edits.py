"""What a plan changes in a file, as data: constants, attributes and new biases. Each format has a writer for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.constants import FLOAT, Use
from onnxlint_cmsis.fixers.planning.elements import Read, built, placed
from onnxlint_cmsis.fixers.planning.layouts import SAME, NewBias, Places, Rearrangement, layouts, new_biases
from onnxlint_cmsis.fixers.planning.size_numbers import AttributeEdit, attribute_edits
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.plan import Plan
    from onnxlint_cmsis.fixers.planning.uses import Uses
    from onnxlint_cmsis.formats.onnx.element_codes import Codes


class ConstantEdit(NamedTuple):
    """One form of a stored constant after the plan."""

    uses: tuple[Use, ...]
    """Uses that read it."""
    copied: bool
    """A new tensor, because other uses need another form."""
    codes: Codes
    """Bit patterns in the new shape."""
    elem_type: str
    """numpy-like name of the type."""
    places: tuple[Places | None, ...]
    """For each axis where its elements come from; empty where no axis changes."""


class BiasEdit(NamedTuple):
    """A new bias."""

    node: int
    """`Node.index` of the node that reads it."""
    position: int
    """Input of that node."""
    reader: int
    """`Node.index` of the layer whose sum it is added to: the node itself, or the one before it."""
    kind: str
    """Kind of the bias slot."""
    codes: Codes
    """Bit patterns of the bias."""
    elem_type: str
    """numpy-like name of the type."""
    scales: Codes
    """Bit patterns of the float32 scales of a `dequantized` bias: one for each element, or a single number."""


class ModelEdits(NamedTuple):
    """Everything that a plan changes, but for the shapes that follow from it."""

    constants: tuple[ConstantEdit, ...]
    """Constants, all made before the first is written."""
    attributes: tuple[AttributeEdit, ...]
    """Numbers in attributes."""
    biases: tuple[BiasEdit, ...]
    """New biases."""


def model_edits(uses: Uses, plan: Plan, read: Read) -> ModelEdits:
    """Work out what a plan changes. Raises NotAppliedError."""
    planned = layouts(uses, plan)
    attributes, biases = attribute_edits(uses, plan.sizes), new_biases(uses, plan)
    constants = tuple(edit for changed in planned.values() for edit in _versions(changed, plan, read))
    return ModelEdits(constants, tuple(attributes), tuple(_bias(uses, bias, plan) for bias in biases))


def _versions(changed: dict[Use, Rearrangement], plan: Plan, read: Read) -> list[ConstantEdit]:
    """Every form that one constant has after the plan; the first takes its place unless some use keeps the old one."""
    groups: dict[Rearrangement, list[Use]] = {}
    for use, layout in changed.items():
        if layout != SAME:
            groups.setdefault(layout, []).append(use)
    edits: list[ConstantEdit] = []
    for layout, members in groups.items():
        source = read(members[0])
        copied = bool(edits) or SAME in changed.values()
        codes = built(source, layout, plan.increments, read)
        edits.append(ConstantEdit(tuple(members), copied, codes, source.elem_type, layout.places))
    return edits


def _bias(uses: Uses, bias: NewBias, plan: Plan) -> BiasEdit:
    """A bias that holds a reader's increments. Raises NotAppliedError."""
    node, slot = uses.graph.nodes[bias.reader], bias.slot
    elem_type = uses.graph.elem_type(node.inputs[0]) if slot.kind == FLOAT else "int32"
    increments = plan.increments[bias.reader]
    nothing = np.zeros(increments.size, f"<u{BITS[elem_type] // 8}")
    codes = _moved(element_codes.added(nothing, elem_type, increments), bias, nothing[:1])
    scales = np.array(slot.scales, "<f4").view("<u4")
    scales = _moved(scales, bias, scales[:1]) if scales.size > 1 else scales.reshape(()) if scales.size else scales
    return BiasEdit(slot.node, slot.position, bias.reader, slot.kind, codes, elem_type, scales)


def _moved(vector: Codes, bias: NewBias, filler: Codes) -> Codes:
    return vector if bias.places is None else placed(vector, [bias.places], filler)
