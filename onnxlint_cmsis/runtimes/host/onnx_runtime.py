"""A layer of an ONNX model in ONNX Runtime, beside the function of CMSIS-NN that it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnxlint_cmsis.ground.types import WEIGHTED, Function
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.host.bounds import EQUAL, ONE, Bound, rounded_once
from onnxlint_cmsis.runtimes.host.comparison import HostComparison
from onnxlint_cmsis.runtimes.host.difference import LayerDifference
from onnxlint_cmsis.runtimes.host.hosts import ORT

TOLERANCE = {8: 1, 16: 2}
"""Bits of a result to the steps that a layer may be off: one unit of rounding. For int16 CMSIS-NN, as TensorFlow Lite,
takes multipliers of 15 bits, which are off by up to one unit in 2^15; its int16 softmax has another bound."""

FAITHFUL = (
    Function.MAX_POOL, Function.MAXIMUM, Function.MINIMUM, Function.PAD, Function.TRANSPOSE, Function.CONCATENATION,
    Function.RESHAPE,
)  # fmt: skip
"""Functions whose results are elements of their inputs."""

ROUNDS = "rounds halves to even and once, CMSIS-NN away from zero and twice at negative shifts"
TABLES = "computes exponentials as floats, CMSIS-NN in fixed-point numbers or by tables"
IN_FLOAT = "computes in float, as the file does; the device will not"


def softmax_wide_steps(row: int) -> int:
    """By how much arm_softmax_s16 may be off the exact softmax of a row, in units of 1/32768.

    The least entry of its first table is 2, so that each element far below the largest still adds 2 to the sum, and
    takes as much from a result near 1 (softmax_common.cc, arm_softmax_s16.c).
    """
    return 2 * row


def _of_record(record: LoweredLayer) -> LayerDifference:
    """What a layer may be off: ONNX Runtime computes real numbers and rounds once, with optimisers or without."""
    node, layer, result = record.node, record.layer, record.output
    if record.assumed:
        return LayerDifference(node, Bound(None), IN_FLOAT)
    if layer is None or result is None or record.verdict is not Outcome.CMSIS_NN:
        return LayerDifference(node, Bound(None), f"is not held against CMSIS-NN: {record.reason or 'it has no call'}")
    function, wide = layer.call.function, result.bits > 8
    if function in FAITHFUL:
        kept = all(source is not None and source.equals(result) for source in record.inputs)
        return LayerDifference(node, EQUAL, "") if kept else LayerDifference(node, ONE, ROUNDS)
    if function is Function.SOFTMAX:
        row = layer.call.input_dims.c or layer.call.output_dims.c
        steps = None if wide and row is None else softmax_wide_steps(row or 0) if wide else TOLERANCE[8]
        return LayerDifference(node, Bound(steps), TABLES)
    source, weights = record.inputs[0] if record.inputs else None, record.weights
    if function in WEIGHTED and source and weights and source.scale and weights.scales and result.scale and not wide:
        return LayerDifference(node, rounded_once([source.scale * s / result.scale for s in weights.scales]), ROUNDS)
    return LayerDifference(node, Bound(TOLERANCE.get(result.bits)), ROUNDS)


def against_onnx_runtime(graph: Graph, records: Iterable[LoweredLayer], unfit: Mapping[int, str]) -> HostComparison:
    """Every layer of an ONNX model, and its outputs, which have a bound where no layer may be off; `unfit` as above."""
    layers = tuple(
        LayerDifference(record.node, Bound(None), unfit[record.node.index])
        if record.node.index in unfit
        else _of_record(record)
        for record in records
    )
    steps = 0 if all(layer.equal for layer in layers) else None
    return HostComparison(ORT, layers, tuple((name, steps) for name in graph.outputs))
