"""The two sets of keys of JSON: of a layer of an ONNX model, and of an operator of a `.tflite` file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.layers import LayerReport


def layer_fields(layer: LayerReport) -> dict[str, object]:
    """A layer as plain data."""
    ends = layer.instructions_range
    between = {"instructions_range": list(ends)} if ends else {}
    time = {"time": layer.time.bounds} if layer.time else {}
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
            **time,
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
        **time,
        "scratch": layer.scratch,
        "constants": layer.constants,
        "classes": dict(layer.classes),
        "hazards": list(layer.hazards),
        "undecided": list(layer.undecided),
        **({"before": layer.before} if layer.before else {}),
        **({} if layer.kernel else between),
        **({} if layer.error is None else {"error": layer.error}),
        **({"q_format": layer.q_format._asdict() if layer.q_format else None} if layer.legacy else {}),
    }
