"""A difference written as a sum of which one operand is multiplied by -1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_negated(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put a Mul with -1 and an Add in place of the Sub; both round as the Sub does."""
    node = record.node
    first, second = edit.inputs(node)[:2]
    negative = edit.fresh(f"{second}_negative")
    factor = edit.add_reals(f"{negative}_factor", np.full((), -1.0))
    edit.insert(node, "Mul", [second, factor], [negative])
    edit.insert(node, "Add", [first, negative], [node.outputs[0]])
    edit.remove(node)
    return RepairMade("becomes an Add of one operand times -1", (node.outputs[0],))
