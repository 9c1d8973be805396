"""Transfer functions of the records: they agree with the other facets, and vary only with what varies."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.intervals import between, point
from onnxlint_cmsis.operators.answers import MOVING, NotFollowed
from onnxlint_cmsis.operators.curve_values import bent
from onnxlint_cmsis.operators.interval_arithmetic import PAIRS
from onnxlint_cmsis.operators.record import Operator
from support.operator_records import CURVES, record_id
from support.operator_records import ONNX_RECORDS as RECORDS

SPANS = [between(-3.0, 2.0), between(0.25, 0.5), between(-np.inf, np.inf), point(0.0), point(0.75), point(-2.0)]


def _node(op_type: str) -> Node:
    return Node(0, "", op_type, "", 20, ("x",), ("y",))


@pytest.mark.parametrize("operator", RECORDS, ids=record_id)
def test_what_moves_elements_says_where_or_which(operator: Operator) -> None:
    if operator.elements in MOVING:
        assert operator.movement is not None or callable(operator.values)
    if operator.movement is not None:
        assert operator.elements in MOVING
        assert isinstance(operator.values, NotFollowed), "a movement says all"


@pytest.mark.parametrize("name", sorted(CURVES))
def test_a_curve_is_zero_at_zero_where_its_record_says_so(name: str) -> None:
    record = next(record for record in RECORDS if record.name == name)
    with np.errstate(all="ignore"):
        at_zero = bent(point(0.0), CURVES[name], _node(name), 2.0**-20)
    if 0 in record.zero:
        assert at_zero.zero


@pytest.mark.parametrize("name", sorted(CURVES))
def test_a_curve_stays_between_the_bounds_of_its_record(name: str) -> None:
    bounds = next(record for record in RECORDS if record.name == name).bounds
    assert SPANS
    for span in SPANS:
        with np.errstate(all="ignore"):
            result = bent(span, CURVES[name], _node(name), 0.0)
        if bounds is not None:
            assert bounds[0] <= result.low
            assert result.high <= bounds[1]
        assert result.fault is not None or result.low <= result.high


@pytest.mark.parametrize("name", sorted(CURVES))
def test_a_curve_of_one_number_does_not_vary(name: str) -> None:
    assert SPANS
    for span in SPANS:
        with np.errstate(all="ignore"):
            result = bent(span, CURVES[name], _node(name), 2.0**-20)
        if not span.varies:
            assert result.fault is not None or not result.varies


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_pair_varies_where_an_operand_does_unless_it_is_one_number(name: str) -> None:
    assert SPANS
    for left in SPANS:
        for right in SPANS:
            with np.errstate(all="ignore"):
                result = PAIRS[name](left, right, 2.0**-20)
            if result.fault is not None:
                continue
            if result.varies:
                assert left.varies or right.varies
            elif left.varies or right.varies:
                assert result.high - result.low <= 1e-5 * (1 + abs(result.low))
