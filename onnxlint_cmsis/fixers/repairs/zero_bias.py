"""A bias of zeros for a convolution without one, where the kernel adds offsets to the address of a missing bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.constants import DEQUANTIZED, bias_slot
from onnxlint_cmsis.fixers.edits.onnx_store import dequantizer_domain
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_zero_bias(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Store int32 zeros, behind a DequantizeLinear of input scale times weight scale where the layer wants reals."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    like = f"{node.name or node.outputs[0]}_bias"
    name = edit.add_constant(like, "int32", np.zeros(channels, "<u4"))
    if slot.kind == DEQUANTIZED:
        scales = np.array(slot.scales, "<f4").view("<u4")
        scales = scales if scales.size > 1 else scales.reshape(())
        zeros, scale = name, edit.add_constant(f"{name}_scale", "float32", scales)
        name = edit.fresh(f"{zeros}_real")
        domain = dequantizer_domain(edit.graph, node.inputs[operator_of(node).roles.weights[0]])
        axis = {"axis": 0} if scales.ndim else {}
        edit.insert(node, DEQUANTIZE_LINEAR.name, [zeros, scale], [name], domain=domain, **axis)
    edit.connect(node, slot.position, name)
    return RepairMade("gets a bias of zeros", (node.outputs[0],))
