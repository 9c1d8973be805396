"""New lanes: what they hold after every operator, and which operators would make NaN or infinity of it."""

from __future__ import annotations

import math

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.risks import risks
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.model.element_ranges import as_stored
from onnxlint_cmsis.model.intervals import between
from onnxlint_cmsis.operators.curve_values import bent
from onnxlint_cmsis.operators.interval_arithmetic import PAIRS
from onnxlint_cmsis.operators.pair_values import share
from support.dims_graphs import Builder, freedom, prove, reasons
from support.goldens import Told
from support.models import read
from support.operator_records import CURVES, ONNX_RECORDS
from support.stems import head, stem


def chain(*steps: tuple[str, float | None], channels: int = 6) -> tuple[Builder, str]:
    """A layer, then operators, each with a number for all lanes or none, the last one `risky`."""
    build, data = stem(channels)
    for index, (op_type, number) in enumerate(steps):
        operands = [] if number is None else [build.const(number, np.float32)]
        data = build.op(op_type, data, *operands, name="risky" if index == len(steps) - 1 else "")
    return build, data


def locks(*steps: tuple[str, float | None]) -> list[str]:
    build, data = chain(*steps)
    return reasons(prove(build, head(build, data)), "stem_0", 1)


@pytest.mark.parametrize("op_type", ["Sqrt", "Asin", "Acos", "Atanh", "Exp", "Sinh", "Cosh", "Tan"])
def test_new_lanes_of_zero_stay_finite(op_type: str) -> None:
    assert locks((op_type, None)) == []


@pytest.mark.parametrize("op_type", ["Log", "Reciprocal", "Acosh"])
def test_new_lanes_of_zero_are_not_finite(op_type: str, told: Told) -> None:
    told(locks((op_type, None)))


def test_the_value_is_carried_through_numbers_and_curves(told: Told) -> None:
    assert locks(("Add", 1.0), ("Log", None)) == []
    assert locks(("Sigmoid", None), ("Log", None)) == []
    told(locks(("Sub", 2.0), ("Sqrt", None)))
    told(locks(("Sigmoid", None), ("Acosh", None)))
    (reason,) = locks(("Exp", None), ("Sub", 1.0), ("Reciprocal", None))
    assert reason.endswith("may be infinite")


def test_numbers_too_large_for_the_type(told: Told) -> None:
    told(locks(("Add", 89.0), ("Exp", None)))
    assert locks(("Add", 88.0), ("Exp", None)) == []
    told(locks(("Add", 1e30), ("Mul", 1e30)))
    told(locks(("Add", -math.inf)))


@pytest.mark.parametrize(
    ("exponent", "reason"),
    [
        (2.0, None),
        (0.0, None),
        (0.5, None),
        (-1.0, "Pow of a new lane, which holds 0, is infinite"),
    ],
)
def test_powers(exponent: float, reason: str | None) -> None:
    assert locks(("Abs", None), ("Pow", exponent)) == ([f"risky: {reason}"] if reason else [])


def test_divisors(told: Told) -> None:
    build, data = stem()
    dimensions = prove(build, head(build, build.op("Div", data, build.weights(6, 1, 1))))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    build, data = stem()
    other = build.op("Exp", build.conv("x", 3, 6, name="other"))
    assert freedom(prove(build, head(build, build.op("Div", data, other))), "stem_0", 1) == "COUPLED"
    build, data = stem()
    dimensions = prove(build, head(build, build.op("Div", data, build.conv("x", 3, 6, name="other"), name="div")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    quotient = build.op("Div", build.op("Sigmoid", data), build.conv("x", 3, 6, name="other"), name="div")
    told(reasons(prove(build, head(build, quotient)), "other_0", 1))


def test_a_constant_that_is_computed_holds_what_its_fill_becomes(told: Told) -> None:
    build, data = stem()
    root = build.op("Sqrt", build.const(np.ones((6, 1, 1)), np.float32))
    dimensions = prove(build, head(build, build.op("Div", data, root, name="div")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    grown = build.op("Exp", build.const(np.ones((6, 1, 1)), np.float32))
    dimensions = prove(build, head(build, build.op("Div", data, grown, name="div")))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_normalisation_gives_new_lanes_what_the_fills_say() -> None:
    build, data = stem()
    numbers = [build.weights(6) for _ in range(3)]
    variance = build.const(np.ones(6), np.float32)
    normal = build.op("BatchNormalization", build.op("Sigmoid", data), *numbers, variance)
    assert freedom(prove(build, head(build, build.op("Log", normal))), "stem_0", 1) == "FREE"


def test_parts_of_a_concatenation_are_taken_together() -> None:
    build, data = stem()
    other = build.op("Sigmoid", build.conv("x", 3, 6, name="other"))
    joined = build.op("Concat", build.op("Exp", data), other, axis=1)
    assert freedom(prove(build, head(build, build.op("Log", joined), 12)), "stem_0", 1) == "FREE"
    build, data = stem()
    other = build.op("Sigmoid", build.conv("x", 3, 6, name="other"))
    joined = build.op("Concat", data, other, axis=1)
    dimensions = prove(build, head(build, build.op("Log", joined, name="risky"), 12))
    reason = "risky: Log of a new lane, which holds 0 to 0.5, may be infinite"
    assert reasons(dimensions, "stem_0", 1) == reasons(dimensions, "other_0", 1) == [reason]


def test_a_lane_that_meets_old_elements_is_unknown(told: Told) -> None:
    """A map over the plane is added to every lane, new ones too."""
    build, data = stem()
    flat = build.op("Abs", build.conv("x", 3, 1, name="flat"))
    summed = build.op("Add", data, flat)
    dimensions = prove(build, head(build, build.op("Sqrt", summed, name="risky")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    gate = build.conv("x", 3, 1, name="gate")
    dimensions = prove(build, head(build, build.op("Sqrt", build.op("Abs", build.op("Mul", data, gate)))))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_what_grows_fast_locks_where_the_value_is_unknown(told: Told) -> None:
    build, data = stem()
    summed = build.op("Add", data, build.conv("x", 3, 1, name="flat"))
    dimensions = prove(build, head(build, build.op("Exp", summed, name="risky")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    summed = build.op("Tanh", build.op("Add", data, build.conv("x", 3, 1, name="flat")))
    assert freedom(prove(build, head(build, build.op("Exp", summed))), "stem_0", 1) == "FREE"


def test_padding_and_pooling(told: Told) -> None:
    build, data = stem()
    padded = build.op("Pad", build.op("Sigmoid", data), build.ints(0, 0, 1, 1, 0, 0, 1, 1))
    dimensions = prove(build, head(build, build.op("Log", padded, name="risky")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    pooled = build.op("AveragePool", build.op("Sigmoid", data), kernel_shape=[2, 2])
    assert freedom(prove(build, head(build, build.op("Log", pooled))), "stem_0", 1) == "FREE"


@pytest.mark.parametrize("zero", [0, 3])
def test_quantized_lanes(zero: int, told: Told) -> None:
    """Weights at their zero-point give the zero-point of the result, and that is real 0."""
    assert _quantized(zero, add=20) == []
    told(_quantized(zero, add=0))


def _quantized(zero: int, add: float) -> list[str]:
    build = Builder()
    data = build.input("x", 1, 3, 4, 4, elem_type=TensorProto.INT8)
    scale, point, weight_point = build.const(0.1, np.float32), build.const(zero, np.int8), build.const(0, np.int8)
    weights = build.const(build.random.integers(-9, 9, (6, 3, 1, 1)), np.int8)
    output = build.op("QLinearConv", data, scale, point, weights, scale, weight_point, scale, point, name="stem")
    real = build.op("DequantizeLinear", output, scale, point)
    summed = build.op("Add", real, build.const(add, np.float32))
    return reasons(prove(build, head(build, build.op("Reciprocal", summed, name="risky"))), "stem_0", 1)


def test_statistics_over_a_plane_of_equal_elements() -> None:
    build, data = stem()
    build.op("MeanVarianceNormalization", data, axes=[0, 2, 3], name="risky")
    reason = ["risky: MeanVarianceNormalization of a new lane, which holds 0, may be NaN"]
    assert reasons(build.analyse(head(build, "risky_0")), "stem_0", 1) == reason
    build, data = stem()
    total = build.op("ReduceLogSum", data, axes=[2, 3], name="risky")
    reason = ["risky: ReduceLogSum of a new lane, which holds 0, is infinite"]
    assert reasons(build.analyse(head(build, total)), "stem_0", 1) == reason


def test_integers_are_never_divided_by_zero() -> None:
    build, data = stem()
    whole = build.op("Cast", data, to=TensorProto.INT32)
    build.op("Mod", build.const(np.ones((6, 4, 4)), np.int32), whole, name="risky")
    real = build.op("Cast", "risky_0", to=TensorProto.FLOAT)
    reason = ["risky: Mod by a new lane, which holds 0, is not defined"]
    assert reasons(build.analyse(head(build, real)), "stem_0", 1) == reason


def test_nothing_is_carried_without_need() -> None:
    build, data = stem()
    scaled = build.op("Div", build.op("Relu", data), build.const(6, np.float32))
    assert risks(build.graph(head(build, scaled))) == []


def test_a_model_of_many_operators_between_two_layers() -> None:
    """No recursion."""
    build, data = stem()
    for _ in range(3000):
        data = build.op("Sqrt", data)
    model = build.model(head(build, data))
    assert freedom(analyse(read(model)), "stem_0", 1) == "FREE"


def test_every_row_belongs_to_an_operator_that_lets_classes_through() -> None:
    followed = [record for record in ONNX_RECORDS if callable(record.values) or record.movement is not None]
    assert len(followed) > 100
    assert all(callable(record.axes) for record in followed)


NUMBERS = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5]), st.floats(-90, 90, width=32), st.floats(-2, 2, width=32))
MODERN = {"Gelu": 20, "Mish": 18, "HardSwish": 18, "Swish": 24, "FastGelu": 0, "QuickGelu": 0}
PLAIN_CURVES = sorted(set(CURVES) - {"Swish", "FastGelu", "QuickGelu", "Not", "IsNaN", "IsInf"})


def computed(op_type: str, *values: float) -> float:
    """One number through one operator in ONNX Runtime."""
    names = ["x", "y"][: len(values)]
    build = Builder(opset=MODERN.get(op_type, 17))
    inputs = [build.input(name, 1) for name in names]
    model = build.model(build.op(op_type, *inputs, out=["z"]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {name: np.array([value], np.float32) for name, value in zip(names, values, strict=True)}
    return float(session.run(None, feed)[0][0])


@given(st.sampled_from(PLAIN_CURVES), NUMBERS, NUMBERS)
def test_curves_hold_what_the_runtime_computes(op_type: str, first: float, second: float) -> None:
    node = load("t", data=_single(op_type)).nodes[0]
    span = between(min(first, second), max(first, second))
    with np.errstate(all="ignore"):
        stored = as_stored(bent(span, CURVES[op_type], node, 2.0**-20), "float32")
    if stored.fault is not None:
        return
    for value in (first, second):
        result = computed(op_type, value)
        assert stored.holds(result), (value, result, stored)


@given(st.sampled_from(sorted(set(PAIRS) - {"Mod"})), NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_pairs_hold_what_the_runtime_computes(op_type: str, a: float, b: float, c: float, d: float) -> None:
    spans = between(min(a, b), max(a, b)), between(min(c, d), max(c, d))
    with np.errstate(all="ignore"):
        stored = PAIRS[op_type](*spans, 2.0**-20)
        stored = as_stored(share(stored, 2, 2.0**-20) if op_type == "Mean" else stored, "float32")
    if stored.fault is not None:
        return
    for left in (a, b):
        for right in (c, d):
            result = computed(op_type, left, right)
            assert stored.holds(result), (left, right, stored)


@pytest.mark.parametrize(("elem_type", "least"), [("float32", 2.0**-149), ("float16", 2.0**-24)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_result_below_the_normal_numbers_may_be_rounded_to_its_neighbours(
    elem_type: str, least: float, sign: int
) -> None:
    number = sign * 3.25 * least
    stored = as_stored(between(number, number), elem_type)
    assert all(stored.holds(np.array(sign * count * least)) for count in (0, 3, 4))


def _single(op_type: str) -> bytes:
    build = Builder(opset=MODERN.get(op_type, 17))
    return build.model(build.op(op_type, build.input("x", 1))).SerializeToString()
