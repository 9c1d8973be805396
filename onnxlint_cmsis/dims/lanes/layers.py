"""Results of convolutions and matrix products whose data is partly known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.curves import CURVES, bent
from onnxlint_cmsis.dims.lanes.elementwise import add
from onnxlint_cmsis.dims.lanes.facts import Facts, has, real_attribute
from onnxlint_cmsis.dims.lanes.known import SLACK, Known, lay
from onnxlint_cmsis.dims.lanes.quantized import requantized
from onnxlint_cmsis.dims.lanes.sums import GEMMS
from onnxlint_cmsis.dims.lanes.weighted import Weighted, sums
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats
    from onnxlint_cmsis.graph.model import Node

INT32 = 2.0**31
"""Sums from here on wrap around."""
QUANTIZED: dict[tuple[str, str], tuple[tuple[int, int], int, int]] = {
    ("", "QLinearConv"): ((1, 4), 8, 6),
    ("", "QLinearMatMul"): ((1, 4), -1, 6),
    ("com.microsoft", "QGemm"): ((1, 4), 6, 7),
    ("com.microsoft", "QLinearConv"): ((1, 4), 8, 6),
}
"""Scales of the two factors, bias, and scale of the result."""


def layer(node: Node, facts: Facts, weighted: Weighted) -> Known | None:
    """What is known of the result of a node that sums."""
    data, shape = facts.input(node, weighted.data), facts.shape(node.outputs[0])
    if data is None or shape is None or len(shape) <= weighted.made:
        return None
    total = sums(weighted, weighted.columns(data))
    if (node.domain, node.op_type) in QUANTIZED:
        return _quantized(node, facts, weighted, total)
    made = lay(total, weighted.made, len(shape))
    return _real(node, facts, made, weighted) if weighted.real else _wrapping(made)


def _wrapping(total: Known) -> Known:
    return total.only(np.abs(total.low) < INT32)


def _real(node: Node, facts: Facts, made: Known, weighted: Weighted) -> Known | None:
    """Bias, rounding, and the activation that ONNX Runtime fuses."""
    if has(node, 2):
        bias = facts.input(node, 2)
        if bias is None:
            return None
        made = add(made, _placed(node, bias, made, weighted), real=True)
        maker = facts.graph.producers.get(node.inputs[2])
        if maker is not None and operator_of(maker).dequantizes:  # may run fused, in integers and scaled afterwards
            made = made.widened(np.where(made.zero, 0, SLACK * np.abs(made.low)))
    activation = node.text("activation")
    if has(node, 3) or (activation and activation not in PLAIN_ACTIVATIONS):
        return None
    return bent(made, CURVES[activation], node) if activation else made


PLAIN_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh")
"""Fused activations without parameters."""


def _placed(node: Node, bias: Known, made: Known, weighted: Weighted) -> Known:
    """The bias as it meets the result: along the channels, or for Gemm broadcast and times beta."""
    if node.op_type not in GEMMS:
        return lay(bias, weighted.made, made.low.ndim) if bias.low.ndim == 1 else bias
    factor = real_attribute(node, "beta", 1.0)
    bounds = bias.low * factor, bias.high * factor
    return Known(np.minimum(*bounds), np.maximum(*bounds))


def _quantized(node: Node, facts: Facts, weighted: Weighted, total: Known) -> Known | None:
    """An integer sum times the scales, in the steps of the result."""
    scales, bias, result = QUANTIZED[node.domain, node.op_type]
    if bias >= 0 and has(node, bias):
        added = facts.input(node, bias)
        if added is None or added.low.ndim > 2 or added.low.shape[:-1] not in ((), (1,)):
            return None
        total = total.map(lambda bound: bound + added.low.reshape(-1))
    rank = len(facts.shape(node.outputs[0]) or ())
    unit = _unit(node, facts, weighted, scales) * real_attribute(node, "alpha", 1.0)
    real = lay(_wrapping(total).map(lambda bound: bound * unit), weighted.made, rank)
    if not has(node, result):
        return real.widened(np.where(real.zero, 0, SLACK * np.abs(real.low)))
    return requantized(real, node, facts, result)


def _unit(node: Node, facts: Facts, weighted: Weighted, scales: tuple[int, int]) -> Floats:
    """Product of the two scales for each row; NaN where the data has several."""
    of_weights = 1 if weighted.weights > weighted.data else 0
    data = facts.vector(node, scales[1 - of_weights], np.nan)
    weights = facts.vector(node, scales[of_weights], np.nan)
    rows = weighted.taps.shape[0] * weighted.taps.shape[1]
    if len(data) != 1 or len(weights) not in (1, rows):
        return np.full(rows, np.nan)
    return data * weights
