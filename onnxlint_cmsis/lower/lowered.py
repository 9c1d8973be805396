"""A lowered layer: node, call, epilogue, verdict; and the weights and biases that it gets."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.epilogue import LINEAR, Epilogue
from onnxlint_cmsis.lower.layer import Cause, Decision, Layer, Verdict, parameters_of
from onnxlint_cmsis.lower.quantization import (
    AffineQuantization,
    along,
    dequantized,
    of_weights,
    real_values,
    weights_behind,
)
from onnxlint_cmsis.model.graph import Graph, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.lower.quantization import Read


class LoweredLayer(NamedTuple):
    """One node, its verdict, and its quantization."""

    node: Node
    """The node."""
    verdict: Verdict
    """Who computes it, in a release that has the function."""
    cause: Cause | None = None
    """Why it is not CMSIS-NN, for programs; None where it is."""
    reason: str = ""
    """Why, as a clause for people."""
    code: str = ""
    """Kind of reference code that computes it, a key of REFERENCE_TYPES; empty for every other verdict."""
    layer: Layer | None = None
    """The kernel call: that of CMSIS-NN, or for the others the one that the geometry asks for."""
    epilogue: Epilogue | None = None
    """Nodes behind it that its kernel computes too; None where no kernel computes the node."""
    inputs: tuple[AffineQuantization | None, ...] = ()
    """Quantization of its activations; none in a float model."""
    weights: AffineQuantization | None = None
    """Quantization of its weights; None without weights and in a float model."""

    @property
    def call(self) -> KernelCall | None:
        """The call of CMSIS-NN; None for every other verdict."""
        return self.layer.call if self.layer and self.verdict is Verdict.CMSIS_NN else None

    @property
    def output(self) -> AffineQuantization | None:
        """Quantization of its result; None in a float model."""
        return self.epilogue.quantization if self.epilogue else None

    @property
    def folded(self) -> tuple[str, ...]:
        """Labels of Pad nodes whose padding the call includes."""
        return self.layer.folded if self.layer else ()

    @property
    def fused(self) -> tuple[Node, ...]:
        """Nodes behind it that its kernel computes too."""
        return self.epilogue.fused if self.epilogue else ()

    @property
    def assumed(self) -> bool:
        """Whether the model computes in float here."""
        return bool(self.layer and self.layer.assumed)

    @property
    def weighted(self) -> bool:
        """Whether it multiplies by weights."""
        return bool(self.layer and self.layer.macs is not None and self.layer.channels)


@dataclass(frozen=True, eq=False, repr=False)
class Lowered:
    """All nodes of a model that have something to compute."""

    records: tuple[LoweredLayer, ...]
    """One for each node, in file order."""

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers that functions of CMSIS-NN compute."""
        return tuple(record.layer for record in self.records if record.layer and record.verdict is Verdict.CMSIS_NN)

    @cached_property
    def undecided(self) -> tuple[Node, ...]:
        """Nodes that cannot be judged for want of a shape."""
        undecided = (record for record in self.records if record.verdict is Verdict.UNDECIDED)
        return tuple(record.node for record in undecided if record.cause is not Cause.RUNTIME)

    @cached_property
    def foreign(self) -> tuple[tuple[Node, str], ...]:
        """Nodes that no function of CMSIS-NN computes, in this form or at all, with the reason."""
        return tuple((record.node, record.reason) for record in self.beside)

    @cached_property
    def beside(self) -> tuple[LoweredLayer, ...]:
        """Records of nodes in reference code and of those without code."""
        return tuple(record for record in self.records if record.verdict in (Verdict.REFERENCE, Verdict.NO_KERNEL))

    @cached_property
    def assumed(self) -> int:
        """How many layers compute in float in the file."""
        return sum(layer.assumed for layer in self.layers)

    def without(self, labels: Container[str]) -> Lowered:
        """What is lowered, without the nodes of these labels."""
        return replace(self, records=tuple(record for record in self.records if record.node.label not in labels))


def decided(record: LoweredLayer, decision: Decision | None) -> LoweredLayer:
    """The record with a decision against CMSIS-NN, where there is one."""
    if decision is None:
        return record
    return record._replace(verdict=decision.verdict, cause=decision.cause, reason=decision.reason, code=decision.code)


# Weights and bias that a layer gets: those of the file, with what behind it goes into them.


if TYPE_CHECKING:
    Numbers = NDArray[np.float64]

_EPSILON = 1e-5


class FoldedWeights(NamedTuple):
    """Real weights and bias of a layer."""

    weights: Numbers
    """Output channels first."""
    bias: Numbers
    """One for each output channel."""


def folded(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    """Weights and bias of a layer; None where they are not stored, or what is folded in is not known."""
    return with_epilogue(graph, read, record, _own(graph, read, record))


def with_epilogue(graph: Graph, read: Read, record: LoweredLayer, layer: FoldedWeights | None) -> FoldedWeights | None:
    """A layer's weights and bias with what behind it goes into them; None where that is not known."""
    tensor = record.node.outputs[0]
    for node in record.epilogue.absorbed if record.epilogue else ():
        layer = _with(graph, read, node, tensor, layer) if layer else None
        tensor = node.outputs[0]
    return layer


def _own(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    node, layer = record.node, record.layer
    roles = operator_of(node).roles
    weights = _stored_weights(graph, read, node, roles.second)
    if weights is None or layer is None:
        return None
    dense = layer.call.function is Function.FULLY_CONNECTED
    if dense and not node.int("transB"):
        weights = weights.T
    channels = weights.shape[0]
    bias = np.zeros(channels)
    if node.has(roles.bias):
        stored = _bias(graph, read, node, roles.bias)
        if stored is None or stored.size not in (1, channels):
            return None
        bias = np.broadcast_to(stored.reshape(-1), (channels,)) * _factor(node, "beta")
    return FoldedWeights(weights * _factor(node, "alpha"), bias)


def _stored_weights(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """Real numbers of the weights, whose scales the operator may carry itself: one for each output channel."""
    values = real_values(graph, read, node.inputs[position])
    carried = parameters_of(node, position)
    if carried is None or values is None:
        return values
    scale = real_values(graph, read, node.inputs[carried.scale])
    point = carried.zero_point
    zero = real_values(graph, read, node.inputs[point]) if node.has(point) else np.zeros(1)
    if scale is None or zero is None:
        return None
    return dequantized(values, scale, zero, operator_of(node).roles.channel_axis(node, position, values.ndim))


def _bias(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """The bias in real numbers; that of an operator on integers has the scale of its products."""
    values = real_values(graph, read, node.inputs[position])
    roles = operator_of(node).roles
    carried = [parameters_of(node, operand) for operand in (roles.first, roles.second)]
    scales = [real_values(graph, read, node.inputs[parameters.scale]) for parameters in carried if parameters]
    if values is None:
        return None
    values = values.reshape(-1)
    for scale in scales:
        if scale is None or (1 not in (scale.size, values.size) and scale.size != values.size):
            return None
        values = values * scale.reshape(-1)
    return values


def _factor(node: Node, name: str) -> float:
    value = node.attributes.get(name, 1.0)
    return float(value) if isinstance(value, (int, float)) else 1.0


def _with(graph: Graph, read: Read, node: Node, tensor: str, layer: FoldedWeights) -> FoldedWeights | None:
    """Weights and bias with a node behind taken in; a node that computes nothing leaves all as it is."""
    name = canonical(node)
    if name == "BatchNormalization":
        return _normalized(graph, read, node, layer)
    if name not in LINEAR:
        return layer
    other = next(operand for operand in node.inputs if operand != tensor)
    numbers = real_values(graph, read, other)
    if numbers is None or numbers.size not in (1, layer.bias.size):
        return None
    first = node.inputs[0] == tensor
    flat = numbers.reshape(-1)
    if name in ("Mul", "Div"):
        return _scaled(layer, flat if name == "Mul" else 1 / flat)
    sign = -1.0 if name == "Sub" and not first else 1.0
    return FoldedWeights(sign * layer.weights, sign * layer.bias + (-flat if name == "Sub" and first else flat))


def _scaled(layer: FoldedWeights, factor: Numbers) -> FoldedWeights:
    return FoldedWeights(layer.weights * along(factor, layer.weights.ndim, 0), layer.bias * factor)


def _normalized(graph: Graph, read: Read, node: Node, layer: FoldedWeights) -> FoldedWeights | None:
    stored = [real_values(graph, read, name) for name in node.inputs[1:5]]
    numbers = [values.reshape(-1) for values in stored if values is not None and values.size in (1, layer.bias.size)]
    if len(numbers) < 4:  # damaged files have fewer, or vectors for another number of channels
        return None
    scale, shift, mean, variance = numbers
    epsilon = node.attributes.get("epsilon", _EPSILON)
    factor = scale / np.sqrt(variance + (float(epsilon) if isinstance(epsilon, (int, float)) else _EPSILON))
    scaled = _scaled(layer, factor)
    return FoldedWeights(scaled.weights, scaled.bias - mean * factor + shift)


# How a layer's bias is stored, and by how much results are off where its integers are taken as they stand.


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
        units, scales, points = unit * np.array(weights), np.array(own), np.array(zeros, np.float64)
        if not units.all():
            return None
        numbers = np.array(values, np.float64)
        off = float((np.abs(numbers * units - (numbers - points) * scales) / step).max())
        ratios = scales / units
        factor = float(ratios[np.argmax(np.abs(ratios - 1))])
    return BiasNumbers(stored, factor if abs(factor - 1) > EQUAL else 1.0, off)
