"""What the new elements of a constant are: real 0 for weights and biases, and whatever keeps a new lane finite."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from onnxlint_cmsis.dims.constant_uses import Constants, Use
from onnxlint_cmsis.formats.onnx_graph.operand_checks import CONVOLUTIONS, PRODUCTS, QUANTIZED
from onnxlint_cmsis.graph.model import Node


class NotFilledError(Exception):
    """No new elements make sense; the text is one clause that says why."""


Operator = tuple[str, str]
"""Domain and operator."""

MICROSOFT = "com.microsoft"

ZERO_POINTS: dict[Operator, dict[int, int]] = {
    **{
        operator: {value: zero for value, _, zero in places if value >= 0}
        for operator, places in QUANTIZED.items()
        if operator[1] != "QuantizeLinear"
    },
    ("", "ConvInteger"): {0: 2, 1: 3},
    ("", "MatMulInteger"): {0: 2, 1: 3},
    (MICROSOFT, "QLinearConv"): {0: 2, 3: 5},
    (MICROSOFT, "DynamicQuantizeMatMul"): {1: 3},
    (MICROSOFT, "MatMulIntegerToFloat"): {0: 4, 1: 5},
}
"""Inputs that hold quantized values, and the input with their zero-point."""

PARAMETERS: dict[Operator, frozenset[int]] = {
    **{
        operator: frozenset(place for _, scale, zero in places for place in (scale, zero))
        for operator, places in QUANTIZED.items()
    },
    ("", "ConvInteger"): frozenset({2, 3}),
    ("", "MatMulInteger"): frozenset({2, 3}),
    (MICROSOFT, "QLinearConv"): frozenset({1, 2, 4, 5, 6, 7}),
    (MICROSOFT, "DynamicQuantizeMatMul"): frozenset({2, 3}),
    (MICROSOFT, "MatMulIntegerToFloat"): frozenset({2, 3, 4, 5}),
}
"""Inputs that hold scales and zero-points."""

ONE: dict[Operator, frozenset[int]] = {
    ("", "BatchNormalization"): frozenset({1, 4}),
    ("", "Acosh"): frozenset({0}),
    ("", "Div"): frozenset({1}),
    ("", "Log"): frozenset({0}),
    ("", "Mod"): frozenset({1}),
    ("", "Pow"): frozenset({1}),
    ("", "Reciprocal"): frozenset({0}),
}
"""Inputs where 0 would make the lane NaN or infinite, or no lane of a normalisation; they get 1."""

MOVING = frozenset(
    {
        *("Cast", "Concat", "Expand", "Flatten", "Gather", "Identity", "Pad"),
        *("Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)
"""Operators of the default domain that hand elements on, so that a constant before one means what it means after."""

ZERO_KEEPING: dict[Operator, tuple[int, ...]] = {
    **{("", name): (0,) for name in (MOVING - {"Concat"})},
    **{("", name): (0,) for name in ("Abs", "DequantizeLinear", "Neg", "QuantizeLinear", "Sign")},
    **{(MICROSOFT, name): (0,) for name in ("DequantizeLinear", "QuantizeLinear")},
    ("", "Mul"): (0, 1),
}
"""Operators that make real 0 of the new elements at these inputs; Concat does so of all."""

WEIGHTS: dict[Operator, tuple[int, ...]] = {
    **{operator: (weights,) for operator, (weights, _) in CONVOLUTIONS.items()},
    **PRODUCTS,
    (MICROSOFT, "QLinearConv"): (3,),
    (MICROSOFT, "FusedGemm"): (0, 1),
    (MICROSOFT, "DynamicQuantizeMatMul"): (1,),
    (MICROSOFT, "MatMulIntegerToFloat"): (0, 1),
}
"""Inputs that may hold a layer's weights."""


class FillKind(str, Enum):
    """Where new elements come from."""

    NUMBER = "number"
    FIRST = "first"
    ZERO_POINTS = "zero-points"


class Fill(NamedTuple):
    """What the new elements of a constant are."""

    kind: FillKind
    """A number; the first element that can serve (scales, zero-points); zero-points that differ by channel."""
    number: int = 0
    """The number: 0, 1 or a zero-point."""
    zero_points: Use = (-1, -1)
    """The use that reads the zero-points."""
    axis: int = 0
    """Axis of the values along which they lie."""


def fill(constants: Constants, node: Node, position: int) -> Fill:
    """What new elements have to be for a node that reads them. Raises NotFilledError where its readers disagree."""
    operator = node.domain, node.op_type
    if position in PARAMETERS.get(operator, ()):
        return Fill(FillKind.FIRST)
    if position in ZERO_POINTS.get(operator, {}):
        return _zero_point(constants, node, position, ZERO_POINTS[operator][position])
    if position in ONE.get(operator, ()):
        return Fill(FillKind.NUMBER, 1)
    if node.is_op(*MOVING) and node.outputs[0] in constants.derived:
        return _handed_on(constants, node)
    return Fill(FillKind.NUMBER, 0)


def check_weights(constants: Constants, node: Node) -> None:
    """Raise NotFilledError unless new elements of a layer's weights are real 0 by the time the layer reads them."""
    for position in WEIGHTS.get((node.domain, node.op_type), ()):
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
    if len(set(values)) == 1:
        return Fill(FillKind.NUMBER, int(values[0]))
    if constant is None or len(constant.shape) > 1 or not constants.stored(key):
        raise NotFilledError(f"the zero-points of {node.label} differ by block")
    return Fill(FillKind.ZERO_POINTS, 0, (node.index, holder), _channel_axis(constants, node, position))


def _channel_axis(constants: Constants, node: Node, position: int) -> int:
    """Axis of quantized values that a vector of zero-points belongs to."""
    rank = len(constants.graph.shape(node.inputs[position]) or ())
    if node.op_type == "DequantizeLinear":
        return node.int("axis", 1) % rank if rank > 1 else 0
    if node.op_type in ("ConvInteger", "QLinearConv"):
        return 0
    if node.op_type == "QGemm":
        return 0 if node.int("transB") else 1
    return rank - 1 if position else rank - 2


def _check_zero(constants: Constants, key: str, label: str) -> None:
    pending = [key]
    while pending:
        name = pending.pop()
        producer = constants.graph.producers.get(name)
        if constants.stored(name) or producer is None:
            continue
        if producer.is_op("ConstantOfShape"):
            values = constants.graph.constants[name].values() if name in constants.graph.constants else None
            if values is None or any(values):
                raise NotFilledError(f"the weights of {label} are a ConstantOfShape of other than 0")
            continue
        places = ZERO_KEEPING.get((producer.domain, producer.op_type))
        if producer.is_op("Concat"):
            places = tuple(range(len(producer.inputs)))
        if places is None:
            raise NotFilledError(
                f"the weights of {label} come through {producer.op_type}, which may make 0 another value"
            )
        pending.extend(producer.inputs[place] for place in places)
