"""Records of operators: each says what it is, and says it once."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from onnxlint_cmsis.operators.curve_operators import CURVES
from onnxlint_cmsis.operators.facets import Elements, NotFollowed, Risk
from onnxlint_cmsis.operators.pact_operators import PACT
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.registry import OPERATORS, UNKNOWN, operator_named

RECORDS = sorted(OPERATORS.values(), key=lambda operator: (operator.domain, operator.name))
ENUMS = ("elements", "risk", "layout")


def _id(operator: Operator) -> str:
    return f"{operator.domain or 'ai.onnx'}.{operator.name}"


@pytest.mark.parametrize("operator", RECORDS, ids=_id)
def test_every_record_answers_or_declines_its_facets(operator: Operator) -> None:
    for facet in ("axes", "sizes", "values", "demand", "fold"):
        answer = getattr(operator, facet)
        assert callable(answer) or (isinstance(answer, NotFollowed) and answer.because), facet
    assert all(getattr(operator, facet) is not None for facet in ENUMS)


def test_no_two_families_have_one_operator() -> None:
    from onnxlint_cmsis.operators import registry

    families = [value for value in vars(registry).values() if isinstance(value, tuple) and value]
    records = [record for family in families for record in family if isinstance(record, Operator)]
    assert len(records) == len(OPERATORS)


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


@pytest.mark.parametrize("name", sorted(one.name for one in CURVES if one.zero and onnx.defs.has(one.name)))
def test_what_keeps_zeros_makes_zeros_of_zeros(name: str) -> None:
    node = helper.make_node(name, ["x"], ["y"], **({"to": TensorProto.FLOAT16} if name == "Cast" else {}))
    held = ["x", "like"] if name == "CastLike" else ["x"]
    node.input[:] = held
    inputs = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [2]) for one in held]
    output = helper.make_value_info("y", onnx.TypeProto())
    model = helper.make_model(helper.make_graph([node], "one", inputs, [output]))
    made = ReferenceEvaluator(model).run(None, dict.fromkeys(held, np.zeros(2, np.float32)))[0]
    assert not np.asarray(made).any()


@pytest.mark.parametrize("name", ["DepthToSpace", "SpaceToDepth"])
def test_what_moves_blocks_is_known_to_every_query(name: str) -> None:
    record = operator_named("", name)
    assert record.moves
    assert record.hands_on
    assert record.keeps_scale
    assert not record.free, "the elements move at run time"
    assert record.movement is not None
    assert callable(record.axes)
    assert record.risk is Risk.NONE
    assert record.zero == (0,)


def test_a_measured_scale_is_not_free() -> None:
    assert not operator_named("", "DynamicQuantizeLinear").free
    assert operator_named("", "QuantizeLinear").free


@pytest.mark.parametrize("operator", PACT, ids=_id)
def test_operators_without_a_definition_decline_their_axes(operator: Operator) -> None:
    assert operator.root is operator_named("", operator.name)
    assert callable(operator.axes) == (operator.name == "RequantShift")
