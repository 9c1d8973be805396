"""How far a device may be from one host: layer by layer on equal inputs, and behind a layer that differs.

The device is CMSIS-NN, or the reference kernels of TensorFlow Lite Micro, which compute the same integers. It
multiplies by 31-bit numbers, and rounds twice where the shift is negative: MultiplyByQuantizedMultiplier in
tensorflow/lite/kernels/internal/common.cc, arm_nn_requantize in arm_nnsupportfunctions.h. Builds with
TFLITE_SINGLE_ROUNDING or CMSIS_NN_USE_SINGLE_ROUNDING are others.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.host.bounds import Bound
from onnxlint_cmsis.runtimes.host.difference import LayerDifference, difference, handed_on
from onnxlint_cmsis.runtimes.host.hosts import Host
from onnxlint_cmsis.runtimes.host.layer import HostLayer, Read


class HostComparison(NamedTuple):
    """What a model may be off in one host."""

    host: Host
    """The host."""
    layers: tuple[LayerDifference, ...]
    """Every operator that the model runs, in file order."""
    outputs: tuple[tuple[str, int | None], ...]
    """Outputs of the model, and the steps that they may be apart on equal inputs; None for no bound."""


def against(graph: Graph, read: Read, host: Host, unfit: Mapping[int, str]) -> HostComparison:
    """Every operator of a `.tflite` model, and its outputs.

    `unfit` has operators that do not run on the device as the file says, by the index of the node, and what they do.
    """
    apart: dict[str, int | None] = dict.fromkeys((*graph.inputs, *graph.constants), 0)
    layers: list[LayerDifference] = []
    for node in graph.nodes:
        layer = HostLayer(graph, node, read)
        off = difference(layer, host)
        if node.index in unfit:
            off = LayerDifference(node, Bound(None), unfit[node.index])
        layers.append(off)
        inputs = [apart.get(name) for name in node.inputs if name]
        known = [steps for steps in inputs if steps is not None]
        open_ = len(known) < len(inputs) or bool(node.bodies) or any(name in graph.variables for name in node.inputs)
        apart.update(dict.fromkeys(node.outputs, None if open_ else handed_on(off, known)))
    return HostComparison(host, tuple(layers), tuple((name, apart.get(name)) for name in graph.outputs))


def fields(comparison: HostComparison) -> dict[str, object]:
    """A comparison as plain data; `steps` is null where there is no bound."""
    return {
        "host": comparison.host.key,
        "layers": [
            {"node": layer.node.label, "op": layer.node.op_type, "steps": layer.bound.steps}
            | ({} if layer.bound.share is None else {"share": layer.bound.share})
            | ({"why": layer.why} if layer.why else {})
            for layer in comparison.layers
        ],
        "outputs": [{"tensor": tensor, "steps": steps} for tensor, steps in comparison.outputs],
    }
