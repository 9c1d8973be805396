"""Fill values of a constant's new elements: real 0 for weights and biases, else a value that keeps the lane finite."""

from __future__ import annotations

from enum import Enum
from math import isfinite

from onnxlint_cmsis.dims.constant_uses import Constants, Use
from onnxlint_cmsis.graph.model import Node, StoredQuantization
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.facets import Elements, NotFollowed
from onnxlint_cmsis.operators.new_lane import NewElement
from onnxlint_cmsis.operators.registry import operator_of


class NotFilledError(Exception):
    """No fill value fits; the text is the reason as one clause."""


class FillKind(str, Enum):
    """Where new elements come from."""

    NUMBER = "number"
    FIRST = "first"
    ZERO_POINTS = "zero-points"


class Fill(NamedTuple):
    """Fill of a constant's new elements."""

    kind: FillKind
    """A number; the first element that can serve (scales, zero-points); zero-points that differ by channel."""
    number: int = 0
    """The number: 0, 1 or a zero-point."""
    zero_points: Use = (-1, -1)
    """The use that reads the zero-points."""
    axis: int = 0
    """Axis of the values along which they lie."""


def fill(constants: Constants, node: Node, position: int) -> Fill:
    """Fill value that a reading node needs. Raises NotFilledError where there is none, or its readers disagree."""
    operator = operator_of(node)
    element = operator.new_element(position, len(node.inputs))
    if isinstance(element, NotFollowed):
        raise NotFilledError(f"new elements of {node.label} are not followed: {element.because}")
    stored = constants.graph.quantization.get(node.inputs[position])
    if stored is not None:
        return _of_stored(node, position, stored, element)
    if element is NewElement.SERVING:
        return Fill(FillKind.FIRST)
    zero_point = operator.roles.zero_point_of(position, len(node.inputs))
    if zero_point is not None:
        return _zero_point(constants, node, position, zero_point)
    if element is NewElement.AS_READ and node.outputs[0] in constants.derived:
        return _handed_on(constants, node)
    return Fill(FillKind.NUMBER, int(element is NewElement.ONE))


def _of_stored(node: Node, position: int, stored: StoredQuantization, element: NewElement) -> Fill:
    """Real 0 in a tensor that keeps its own zero-points."""
    if element is NewElement.ONE:
        raise NotFilledError(f"input {position} of {node.label} would need a quantized 1")
    if len(set(stored.zero_points)) > 1:
        raise NotFilledError(f"the zero-points of '{node.inputs[position]}' differ by channel")
    return Fill(FillKind.NUMBER, stored.zero_points[0] if stored.zero_points else 0)


def check_weights(constants: Constants, node: Node) -> None:
    """Raise NotFilledError unless new elements of a layer's weights are real 0 by the time the layer reads them."""
    for position in operator_of(node).roles.weights:
        if position < len(node.inputs) and constants.constant(node.inputs[position]):
            _check_zero(constants, node.inputs[position], node.label)


def _handed_on(constants: Constants, node: Node) -> Fill:
    """The fill that all readers of a node's outputs ask for."""
    asked = {
        _moved(fill(constants, reader, place))
        for name in node.outputs
        for reader, place in constants.consumers(name)
        if name
    }
    if len(asked) > 1:
        raise NotFilledError(f"{node.label} hands a constant to readers that need different new elements")
    return asked.pop() if asked else Fill(FillKind.NUMBER, 0)


def _moved(found: Fill) -> Fill:
    if found.kind is FillKind.ZERO_POINTS:
        raise NotFilledError("weights are moved before they meet zero-points that differ by channel")
    return found


def _zero_point(constants: Constants, node: Node, position: int, holder: int) -> Fill:
    """Zero-point of quantized values: one number where all are equal, else those of the channels."""
    key = node.inputs[holder] if holder < len(node.inputs) else ""
    if not key:
        return Fill(FillKind.NUMBER, 0)
    constant = constants.graph.constants.get(key)
    values = constant.values() if constant is not None else None
    if not values:
        raise NotFilledError(f"the zero-point of {node.label} is computed at run time")
    if not all(map(isfinite, values)):
        raise NotFilledError(f"a zero-point of {node.label} is no number")
    if len(set(values)) == 1:
        return Fill(FillKind.NUMBER, int(values[0]))
    if constant is None or len(constant.shape) > 1 or not constants.stored(key):
        raise NotFilledError(f"the zero-points of {node.label} differ by block")
    rank = len(constants.graph.shape(node.inputs[position]) or ())
    axis = operator_of(node).roles.channel_axis(node, position, rank)
    return Fill(FillKind.ZERO_POINTS, 0, (node.index, holder), axis)


def _check_zero(constants: Constants, key: str, label: str) -> None:
    pending = [key]
    while pending:
        name = pending.pop()
        producer = constants.graph.producers.get(name)
        if constants.stored(name) or producer is None:
            continue
        operator = operator_of(producer)
        if operator.elements is Elements.REPEATED:
            values = constants.graph.constants[name].values() if name in constants.graph.constants else None
            if values is None or any(values):
                raise NotFilledError(f"the weights of {label} are a {producer.op_type} of other than 0")
            continue
        joined = operator.elements is Elements.JOINED
        places = tuple(operator.roles.data_of(producer)) if joined else operator.zero
        if not places:
            raise NotFilledError(
                f"the weights of {label} come through {producer.op_type}, which may make 0 another value"
            )
        pending.extend(producer.inputs[place] for place in places)
