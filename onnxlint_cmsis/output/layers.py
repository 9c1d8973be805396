"""What `onnxlint-cmsis layers` shows of a file, and each layer as JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.layers import LayerReport, Total
    from onnxlint_cmsis.runtimes.host import HostComparison


class LayersReport(NamedTuple):
    """The layers of a model on every target."""

    layers: tuple[LayerReport, ...]
    """One report per layer and target, in file order, layers without a kernel too."""
    totals: list[Total]
    """The sums of each target."""
    names: Mapping[str, str]
    """Short forms of the layers' names, for people."""
    notes: tuple[str, ...] = ()
    """Which runtime and library the model is judged for; empty where the application calls the functions."""
    hosts: tuple[HostComparison, ...] = ()
    """What layers and outputs may be off in runtimes of a desktop; empty where nobody asked."""

    @property
    def rows(self) -> list[dict[str, object]]:
        """The layers as plain data, with the keys of the JSON report."""
        return [layer_fields(layer) for layer in self.layers]


# The two sets of keys of JSON: of a layer of an ONNX model, and of an operator of a `.tflite` file.


def layer_fields(layer: LayerReport) -> dict[str, object]:
    """A layer as plain data."""
    ends = layer.instructions_range
    between = {"instructions_range": list(ends)} if ends else {}
    if row := layer.operator:
        return {
            "subgraph": row.subgraph,
            "index": row.index,
            "op": row.op,
            "functions": list(row.functions),
            "chain": list(row.chain),
            "verdict": row.verdict.value,
            "reason": row.reason,
            "message": row.message,
            "stage": row.stage,
            "scratch": list(row.scratch),
            "output": layer.tensor,
            "target": layer.target,
            "kernel": layer.kernel,
            "node": layer.node,
            "input_dims": list(layer.input),
            "output_dims": list(layer.output),
            "layer": layer.computes,
            "once": layer.once,
            "macs": layer.macs,
            "instructions": layer.instructions,
            **between,
            "classes": dict(layer.classes),
            "hazards": list(layer.hazards),
        }
    judged = layer.judged
    return {
        "node": layer.node,
        "op": layer.op,
        "target": layer.target,
        **({"runtime": judged.verdict.value, "runtime_reason": judged.reason} if judged else {}),
        "verdict": layer.verdict.value,
        "cause": layer.cause.value if layer.cause else "",
        "entry": layer.entry,
        "assumed": layer.assumed,
        "input": list(layer.input),
        "filter": list(layer.filter),
        "output": list(layer.output),
        "folded": list(layer.folded),
        "fused": [{"node": node.label, "op": node.op_type} for node in layer.fused],
        "kernel": layer.kernel,
        "effective": layer.effective,
        "reason": layer.reason,
        "macs": layer.macs,
        "instructions": layer.instructions,
        **(between if layer.kernel else {}),
        "scratch": layer.scratch,
        "constants": layer.constants,
        "classes": dict(layer.classes),
        "hazards": list(layer.hazards),
        "undecided": list(layer.undecided),
        **({} if layer.kernel else between),
        **({"q_format": layer.q_format._asdict() if layer.q_format else None} if layer.legacy else {}),
    }
