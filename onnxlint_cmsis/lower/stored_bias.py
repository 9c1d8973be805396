"""How a layer's bias is stored, and by how much results are off where its integers are taken as they stand."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.find_quantization import of_weights
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.model.graph import Graph

EQUAL = 1e-4
"""Relative difference of scales up to which they count as equal: float32 products of float32 scales are closer."""


class BiasNumbers(NamedTuple):
    """How a bias is stored, against what the kernels add: integers of scale input x weight and zero-point 0."""

    stored: AffineQuantization | None
    """Its quantization; None for a bias in float."""
    factor: float
    """Scale of the bias over input scale x weight scale, for the channel where they differ most; 1 where all agree."""
    off: float
    """Largest difference in steps of the output, for a caller that takes the integers as they stand."""


def bias_of(graph: Graph, record: LoweredLayer) -> BiasNumbers | None:
    """Bias of a layer of a quantized model; None without one, and where its scale follows from the operator."""
    node, weights = record.node, record.weights
    position = operator_of(node).roles.bias
    if not node.has(position) or parameters_of(node, 0) is not None:
        return None
    factors = [node.attributes.get(name, 1.0) for name in ("alpha", "beta")]
    source = record.inputs[0] if record.inputs else None
    if weights is None or source is None or record.output is None or factors != [1.0, 1.0]:
        return None
    constant, stored = weights_behind(graph, node.inputs[position]), of_weights(graph, node, position)
    if constant is None or stored is None:
        return BiasNumbers(None, 1.0, 0.0) if constant else None
    values = constant.values()
    if values is None or not stored.known or not weights.known or not source.scale or not record.output.scale:
        return None
    return _compared(stored, source.scale, weights.scales or (), values, record.output.scale)


def _compared(
    stored: AffineQuantization,
    unit: float,
    weights: tuple[float, ...],
    values: tuple[int | float, ...],
    step: float,
) -> BiasNumbers | None:
    """The bias channel by channel against `unit` times the scales of the weights; `step` is the scale of the output."""
    import numpy as np

    count = len(values)
    own, zeros = stored.scales or (), stored.zero_points or ()
    if any(len(given) not in (1, count) for given in (weights, own, zeros)) or not count:
        return None
    with np.errstate(all="ignore"):  # scales of damaged files
        scales, points = np.array(own, np.float64), np.array(zeros, np.float64)
        units = unit * np.array(weights, np.float64)
        if not units.all():
            return None
        numbers = np.array(values, np.float64)
        off = float((np.abs(numbers * units - (numbers - points) * scales) / step).max())
        ratios = scales / units
        factor = float(ratios[np.argmax(np.abs(ratios - 1))])
    return BiasNumbers(stored, factor if abs(factor - 1) > EQUAL else 1.0, off)
