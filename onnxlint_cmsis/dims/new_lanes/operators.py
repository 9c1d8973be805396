"""What new elements hold after each operator; what has no row may make anything of them."""

from __future__ import annotations

import math
from functools import reduce as folded

from onnxlint_cmsis.dims.new_lanes import quantized
from onnxlint_cmsis.dims.new_lanes.curves import CURVES, curve, gated, number, to_zero_or_more
from onnxlint_cmsis.dims.new_lanes.interval import (
    ANY,
    INFINITY,
    SHARE,
    ZERO,
    Interval,
    NotFiniteError,
    hull,
    of_numbers,
    point,
    range_of,
    widened,
)
from onnxlint_cmsis.dims.new_lanes.lanes import NewLanes
from onnxlint_cmsis.dims.new_lanes.layers import (
    LAYERS,
    Row,
    average_pool,
    batch_normalization,
    layer,
    mean_variance,
    normalization,
)
from onnxlint_cmsis.dims.new_lanes.pairs import PAIRS, WHOLE_PAIRS, add, maximum, minimum, multiply
from onnxlint_cmsis.graph.model import Node


def _curve(node: Node, lanes: NewLanes) -> Interval:
    return curve(lanes.value(0), node, lanes.rounding)


def _pair(node: Node, lanes: NewLanes) -> Interval:
    """Any function of two variables, two by two."""
    table = PAIRS if lanes.rounding else WHOLE_PAIRS
    values = [lanes.value(place) for place in range(len(node.inputs)) if lanes.has(place)]
    return folded(lambda left, right: table[node.op_type](left, right, lanes.rounding), values)


def _quotient(node: Node, lanes: NewLanes) -> Interval:
    """Through the inverses where all divisors are known, so that none has to be 0 where their signs differ."""
    divisors = () if lanes.is_new(1) else lanes.numbers(1)
    if not divisors or 0 in divisors or not lanes.rounding:
        return _pair(node, lanes)
    return multiply(lanes.value(0), of_numbers(tuple(1 / one for one in divisors)), lanes.rounding)


def _same(_node: Node, lanes: NewLanes) -> Interval:
    return lanes.value(0)


def _clip(node: Node, lanes: NewLanes) -> Interval:
    """Limits from attributes or from inputs 1 and 2."""
    made = lanes.value(0)
    low = lanes.value(1) if lanes.has(1) else point(number(node, "min", -INFINITY))
    high = lanes.value(2) if lanes.has(2) else point(number(node, "max", INFINITY))
    return minimum(maximum(made, low, 0.0), high, 0.0)


def _cast(_node: Node, lanes: NewLanes) -> Interval:
    """To integers towards 0; to a real type by rounding."""
    value, limits = lanes.value(0), range_of(lanes.made)
    if lanes.made == "bool":
        return SHARE
    if lanes.rounding:
        return (
            value if value.is_point and abs(value.low) < 256 and value.low % 1 == 0 else widened(value, lanes.rounding)
        )
    made = [float(math.trunc(end)) if math.isfinite(end) else end for end in value]
    return Interval(*made) if limits.low <= made[0] <= made[1] <= limits.high else limits


def _dropout(_node: Node, lanes: NewLanes) -> Interval:
    """The input, outside training."""
    return ANY if lanes.has(2) and lanes.value(0) != ZERO else lanes.value(0)


def _where(_node: Node, lanes: NewLanes) -> Interval:
    return hull(lanes.value(1), lanes.value(2))


def _concat(node: Node, lanes: NewLanes) -> Interval:
    """New elements come from the parts that have some."""
    parts = [lanes.new(place) for place in range(len(node.inputs)) if lanes.has(place) and lanes.is_new(place)]
    return hull(*parts) if parts else range_of(lanes.made)


def _pad(node: Node, lanes: NewLanes) -> Interval:
    """New lanes are padded along their other axes."""
    if node.text("mode", "constant") != "constant":
        return lanes.value(0)
    return hull(lanes.value(0), lanes.value(2) if lanes.has(2) else point(number(node, "value", 0.0)))


def _resize(node: Node, lanes: NewLanes) -> Interval:
    """Between the elements, unless the interpolation overshoots."""
    value = lanes.value(0)
    if node.text("mode", "nearest") == "cubic":
        return ZERO if value == ZERO else ANY
    return value if node.text("mode", "nearest") == "nearest" else widened(value, lanes.rounding)


def _total(_node: Node, lanes: NewLanes) -> Interval:
    """Sums of one element or more."""
    value = lanes.value(0)
    return Interval(-INFINITY if value.low < 0 else value.low, INFINITY if value.high > 0 else value.high)


def _running_total(node: Node, lanes: NewLanes) -> Interval:
    """Sums of any number of elements."""
    return hull(_total(node, lanes), ZERO)


def _log_total(node: Node, lanes: NewLanes) -> Interval:
    return CURVES["Log"](_total(node, lanes), node)


def _sizes(node: Node, lanes: NewLanes) -> Interval:
    return to_zero_or_more(lanes.value(0), node)


def _product(_node: Node, lanes: NewLanes) -> Interval:
    """Products of unknown length are finite where no factor is larger than 1."""
    value = lanes.value(0)
    if value.low < -1 or value.high > 1:
        raise NotFiniteError("may be infinite")
    return value if value.is_point and value.low in (0, 1) else Interval(-1.0 if value.low < 0 else 0.0, 1.0)


def _mean(_node: Node, lanes: NewLanes) -> Interval:
    return widened(lanes.value(0), lanes.rounding)


def _norm(_node: Node, lanes: NewLanes) -> Interval:
    """Divided by the norm along another axis, which is 0 where all elements are."""
    if 0 in lanes.value(0):
        raise NotFiniteError("is NaN" if lanes.value(0) == ZERO else "may be NaN")
    return Interval(-1.0, 1.0)


def _bias_gelu(node: Node, lanes: NewLanes) -> Interval:
    value = add(lanes.value(0), lanes.value(1), lanes.rounding) if lanes.has(1) else lanes.value(0)
    return gated(value, node)


def _rows(names: str, row: Row) -> dict[tuple[str, str], Row]:
    return dict.fromkeys((("", name) for name in names.split()), row)


ROWS: dict[tuple[str, str], Row] = {
    **_rows(" ".join(CURVES), _curve),
    **_rows(" ".join(PAIRS), _pair),
    **dict.fromkeys(LAYERS, layer),
    **_rows("DepthToSpace Expand Flatten Gather GlobalMaxPool Identity MaxPool ReduceMax ReduceMin", _same),
    **_rows("Reshape Slice SpaceToDepth Split Squeeze Tile TopK Transpose Unsqueeze", _same),
    **_rows("Cast CastLike", _cast),
    **_rows("GlobalAveragePool ReduceMean", _mean),
    ("", "CumSum"): _running_total,
    ("", "Div"): _quotient,
    ("", "ReduceSum"): _total,
    **_rows("GlobalLpPool LpPool ReduceL1 ReduceL2 ReduceSumSquare", _sizes),
    **_rows("InstanceNormalization LayerNormalization RMSNormalization", normalization),
    **_rows("Hardmax Softmax", lambda _node, _lanes: SHARE),
    **_rows("Resize Upsample", _resize),
    ("", "AveragePool"): average_pool,
    ("", "BatchNormalization"): batch_normalization,
    ("", "Clip"): _clip,
    ("", "Concat"): _concat,
    ("", "DequantizeLinear"): quantized.dequantize,
    ("", "Dropout"): _dropout,
    ("", "LpNormalization"): _norm,
    ("", "MeanVarianceNormalization"): mean_variance,
    ("", "Pad"): _pad,
    ("", "QuantizeLinear"): quantized.quantize,
    ("", "ReduceLogSum"): _log_total,
    ("", "ReduceProd"): _product,
    ("", "Where"): _where,
    **dict.fromkeys((("com.microsoft", name) for name in ("BiasGelu", "FastGelu", "Gelu")), _bias_gelu),
    ("com.microsoft", "DequantizeLinear"): quantized.dequantize,
    ("com.microsoft", "QLinearAdd"): quantized.pair,
    ("com.microsoft", "QLinearAveragePool"): quantized.pooled,
    ("com.microsoft", "QLinearConcat"): quantized.joined,
    ("com.microsoft", "QLinearGlobalAveragePool"): quantized.pooled,
    ("com.microsoft", "QLinearLeakyRelu"): quantized.leaky_relu,
    ("com.microsoft", "QLinearMul"): quantized.pair,
    ("com.microsoft", "QLinearSigmoid"): quantized.sigmoid,
    ("com.microsoft", "QuantizeLinear"): quantized.quantize,
    ("com.microsoft", "QuickGelu"): _curve,
}
"""Rows by domain and operator."""
