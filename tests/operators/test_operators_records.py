"""Records of operators: each says what it is, and says it once; all operators of TensorFlow Lite Micro have one."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from onnxlint_cmsis.formats.names import UNKNOWN, operator_named
from onnxlint_cmsis.formats.onnx import names as onnx_names
from onnxlint_cmsis.formats.tflite import names as tflite_names
from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.operators.answers import Elements, NotFollowed, Risk
from onnxlint_cmsis.operators.curve import CURVES
from onnxlint_cmsis.operators.new_lane import AS_READ, NewElement, NewLane
from onnxlint_cmsis.operators.pact import PACT
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS
from onnxlint_cmsis.runtimes.tflm.reference_checks import LIMITS
from support.operator_records import ONNX_RECORDS, TFLITE_RECORDS, answers_or_declines_new_lane, record_id

ENUMS = ("elements", "risk", "layout")


@pytest.mark.parametrize("operator", [*ONNX_RECORDS, *TFLITE_RECORDS], ids=record_id)
def test_every_record_answers_or_declines_its_facets(operator: Operator) -> None:
    for facet in ("axes", "sizes", "values", "demand", "fold"):
        answer = getattr(operator, facet)
        assert callable(answer) or (isinstance(answer, NotFollowed) and answer.because), facet
    assert all(getattr(operator, facet) is not None for facet in ENUMS)
    assert answers_or_declines_new_lane(operator)


@pytest.mark.parametrize("operator", ONNX_RECORDS, ids=record_id)
def test_readers_decide_on_new_lanes_of_what_is_handed_on(operator: Operator) -> None:
    """A constant in front of such an operator means what it means behind it; quantized values have a zero-point."""
    hands_on = operator.moves or operator.elements in (Elements.PADDED, Elements.CAST)
    assert (operator.new_lane == AS_READ) == (hands_on and not operator.roles.quantized)


@pytest.mark.parametrize("name", sorted(curve.name for curve in CURVES if curve.new_lane != AS_READ))
def test_a_new_constant_of_a_curve_stays_finite(name: str) -> None:
    """0 where the function is finite at 0, else 1."""
    if not onnx.defs.has(name):
        pytest.skip(f"onnx {onnx.__version__} does not know {name}")
    ones = operator_named("", name).new_lane == NewLane(ones=(0,))
    assert ones == (not np.isfinite(computed(name, 0.0)).all())
    assert np.isfinite(computed(name, float(ones))).all()


@pytest.mark.parametrize("name", ["Div", "Mod", "Pow"])
def test_a_new_divisor_or_exponent_is_1(name: str) -> None:
    assert operator_named("", name).new_element(1, 2) is NewElement.ONE
    assert operator_named("", name).new_element(0, 2) is NewElement.ZERO


def test_new_channels_of_constants_keep_a_lane_finite() -> None:
    zero, unit, serving = NewElement.ZERO, NewElement.ONE, NewElement.SERVING
    assert new_elements("", "BatchNormalization", 5) == [zero, unit, zero, zero, unit]
    assert new_elements("", "PRelu", 2) == [zero, zero]
    assert new_elements("", "Conv", 3) == [zero] * 3
    assert new_elements("", "DequantizeLinear", 3) == [zero, serving, serving]
    assert new_elements("", "QLinearConv", 9) == [zero, *[serving] * 2, zero, *[serving] * 4, zero]
    assert new_elements("com.microsoft", "QLinearConcat", 8) == [*[serving] * 2, *[zero, serving, serving] * 2]


def new_elements(domain: str, name: str, inputs: int) -> list[NewElement | NotFollowed]:
    """What new elements of each input of a node are."""
    return [operator_named(domain, name).new_element(index, inputs) for index in range(inputs)]


def computed(name: str, at: float) -> np.ndarray:
    """What an operator makes of a number."""
    whole = {"BitwiseNot": TensorProto.INT32, "Not": TensorProto.BOOL}
    elem_type = whole.get(name, TensorProto.FLOAT)
    inputs = [helper.make_tensor_value_info("x", elem_type, [1])]
    output = helper.make_value_info("y", onnx.TypeProto())
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"])], "one", inputs, [output])
    fed = {"x": np.array([at], helper.tensor_dtype_to_np_dtype(elem_type))}
    with np.errstate(all="ignore"):
        return np.asarray(ReferenceEvaluator(helper.make_model(graph)).run(None, fed)[0])


def test_no_two_families_have_one_operator() -> None:
    tables = [*vars(onnx_names).values(), *vars(tflite_names).values()]
    families = [value for value in tables if isinstance(value, tuple) and value]
    records = [record for family in families for record in family if isinstance(record, Operator)]
    assert len([record for record in records if record.domain != TFLITE]) == len(ONNX_RECORDS)
    assert len([record for record in records if record.domain == TFLITE]) == len(TFLITE_RECORDS)


def test_an_alias_inherits_what_it_does_not_change() -> None:
    fused, plain = operator_named("com.microsoft", "FusedConv"), operator_named("", "Conv")
    changed = {"name", "domain", "of", "epilogue", "axes", "roles"}
    same = {field.name for field in dataclasses.fields(Operator)} - changed
    assert all(getattr(fused, name) == getattr(plain, name) for name in same)
    assert fused.root is plain
    assert fused.roles.summand == 3


def test_an_unknown_operator_has_a_record_that_declines() -> None:
    record = operator_named("no.such.domain", "Conv")
    assert record is UNKNOWN
    assert not record.known
    assert record.elements is Elements.COMPUTED
    assert not record.free
    assert not record.moves


@pytest.mark.parametrize("name", sorted(curve.name for curve in CURVES if curve.zero and onnx.defs.has(curve.name)))
def test_what_keeps_zeros_makes_zeros_of_zeros(name: str) -> None:
    node = helper.make_node(name, ["x"], ["y"], **({"to": TensorProto.FLOAT16} if name == "Cast" else {}))
    held = ["x", "like"] if name == "CastLike" else ["x"]
    node.input[:] = held
    inputs = [helper.make_tensor_value_info(input_name, TensorProto.FLOAT, [2]) for input_name in held]
    output = helper.make_value_info("y", onnx.TypeProto())
    model = helper.make_model(helper.make_graph([node], "one", inputs, [output]))
    zeros = ReferenceEvaluator(model).run(None, dict.fromkeys(held, np.zeros(2, np.float32)))[0]
    assert not np.asarray(zeros).any()


@pytest.mark.parametrize("name", ["DepthToSpace", "SpaceToDepth"])
def test_what_moves_blocks_is_known_to_every_query(name: str) -> None:
    record = operator_named("", name)
    assert record.moves
    assert record.new_lane == AS_READ
    assert record.keeps_scale
    assert not record.free, "the elements move at run time"
    assert record.movement is not None
    assert callable(record.axes)
    assert record.risk is Risk.NONE
    assert record.zero == (0,)


def test_a_measured_scale_is_not_free() -> None:
    assert not operator_named("", "DynamicQuantizeLinear").free
    assert operator_named("", "QuantizeLinear").free


@pytest.mark.parametrize("operator", PACT, ids=record_id)
def test_operators_without_a_definition_decline_their_axes(operator: Operator) -> None:
    assert operator.root is operator_named("", operator.name)
    assert callable(operator.axes) == (operator.name == "RequantShift")


def test_a_record_is_found_by_its_domain_and_name_alone() -> None:
    for record in (*ONNX_RECORDS, *TFLITE_RECORDS):
        assert operator_named(record.domain, record.name) is record
    assert {*KERNELS, *LIMITS} <= {record.name for record in TFLITE_RECORDS}
    assert operator_named(TFLITE, "HASHTABLE") is operator_named("", "CONV_2D") is UNKNOWN


def test_onnx_operators_are_found_without_those_of_tflite() -> None:
    code = (
        "import sys; from onnxlint_cmsis.formats.names import operator_named; operator_named('', 'Conv'); "
        "print([name for name in sys.modules if 'tflite' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
