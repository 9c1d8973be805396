"""Weights and bias of a float layer with the normalization or the constant behind it in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.folded_weights import own_weights, taken_in
from onnxlint_cmsis.lower.unfolded import DENSE, unfolded

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_fold_constants(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Store new weights and a new bias in float32, computed in float64, and take the node out. Raises NotAppliedError.

    The old constants stay where another node reads them.
    """
    graph, node = edit.graph, record.node
    layer, added, _ = next(pair for pair in unfolded(graph) if pair.node is node)
    dense, roles = canonical(layer) in DENSE, operator_of(layer).roles
    sums, tensor = own_weights(graph, edit.read, layer, dense=dense), layer.outputs[0]
    for behind in (node,) if added is None else (added, node):
        sums = taken_in(graph, edit.read, behind, tensor, sums) if sums else None
        tensor = behind.outputs[0]
    if sums is None:
        raise NotAppliedError(f"the numbers of {layer.label} and {node.label} do not fit")
    label = layer.name or layer.outputs[0]
    matrix = sums.weights.T if dense and not layer.int("transB") else sums.weights
    edit.connect(layer, roles.second, edit.add_reals(f"{label}_weights", matrix))
    if added is not None:
        position = next(index for index, name in enumerate(added.inputs) if name != layer.outputs[0])
        edit.connect(added, position, edit.add_reals(f"{label}_bias", sums.bias))
        products = edit.fresh(f"{layer.outputs[0]}_folded")
        edit.write(layer, products)
        edit.connect(added, 1 - position, products)
    elif roles.bias >= 0:
        edit.connect(layer, roles.bias, edit.add_reals(f"{label}_bias", sums.bias))
    if canonical(layer) == "Gemm":
        edit.set_attributes(layer, "alpha", "beta")
    edit.remove(node)
    edit.write(added or layer, node.outputs[0])
    return RepairMade(f"goes into the weights of '{layer.label}'", (node.outputs[0],))
