"""Sizes that no array could hold: nothing is known of them, and little memory is asked for."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnxlint_cmsis.model.interval_axes import MAX_ELEMENTS, fits
from onnxlint_cmsis.model.intervals import exactly
from onnxlint_cmsis.model.regrouping import MAX_CELLS, put, taken
from onnxlint_cmsis.model.variables import MAX_LANES
from onnxlint_cmsis.operators.joined_values import joined
from support.dims_graphs import Builder, reasons
from support.goldens import Told
from support.lanes_checks import Analysed, analysed
from support.stems import head, stem

HUGE = 2**30
LIMIT = 400_000_000
"""Bytes that an analysis may ask for."""


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LIMIT


def hollow(*shape: int) -> tuple[Analysed, str]:
    """Two convolutions, the first with weights of a shape that the file only claims."""
    build = Builder()
    weights = build.op("ConstantOfShape", build.ints(*shape))
    data = build.op("Conv", build.input("x", 1, 3, 4, 4), weights, name="stem")
    output = build.op("Conv", data, build.op("ConstantOfShape", build.ints(2, shape[0], 1, 1)), name="head")
    return analysed(build.model(output)), data


def test_a_class_of_more_lanes_than_can_be_looked_at_is_locked(told: Told) -> None:
    analysis, data = hollow(HUGE, 3, 1, 1)
    group = analysis.dimensions.class_of(data, 1)
    assert group is not None
    told([lock.reason for lock in group.locks])
    lanes = analysis.lanes.classes[group.id]
    assert len(lanes.live) == HUGE
    assert not (lanes.exact or lanes.unsafe or lanes.constants or lanes.unread)


def test_a_class_of_usual_size_has_no_such_lock() -> None:
    build, data = stem()
    assert reasons(build.analyse(head(build, data)), data, 1) == []


@pytest.mark.parametrize("shape", [(6, 3, HUGE, HUGE), (MAX_LANES, 3, 1, 9), (6, 3, 2**13, 2**13)])
def test_weights_that_claim_more_elements_than_an_array_holds_are_not_known(shape: tuple[int, ...]) -> None:
    analysis, _data = hollow(*shape)
    assert 1 not in analysis.lanes.view.weighted


def test_a_pad_of_more_elements_than_an_array_holds_keeps_nothing_apart() -> None:
    build, data = stem()
    around = build.ints(0, 0, HUGE, 0, 0, 0, HUGE, 0)
    row = build.op("Identity", build.const(np.ones((1, 6, 4, 4)), np.float32))
    padded = build.op("Pad", row, around, build.const(2, np.float32), name="pad")
    model = build.model(head(build, build.op("Add", data, padded)))
    del model.graph.value_info[:]
    known = analysed(model).lanes.view.known("pad_0")
    assert known is None or known.low.size <= MAX_CELLS


def test_operands_that_are_spread_out_across_each_other_are_not_followed() -> None:
    build = Builder()
    column, other = build.weights(1, 2**13, 1, 1), build.weights(1, 1, 2**13, 1)
    data = build.input("x", 1, 1, 1, 1)
    crossed = build.op("Add", build.op("Relu", column), build.op("Relu", other), name="crossed")
    known = analysed(build.model(build.op("Mul", crossed, data))).lanes.view.known("crossed_0")
    assert known is not None
    assert known.varies.all()
    assert known.low.size == 1


def test_arrays_are_spread_out_no_further_than_their_bound() -> None:
    assert fits((MAX_ELEMENTS, 1), (1, 1))
    assert not fits((MAX_ELEMENTS, 1), (1, 2))
    with pytest.raises(ValueError, match="allowed are"):
        put(np.ones((2,), bool), 0, np.arange(2), MAX_CELLS + 1)
    with pytest.raises(ValueError, match="allowed are"):
        taken(np.ones((2, 2**21)), 0, np.zeros(4, int))
    part = exactly(np.zeros((1, 1)))
    assert joined([part, part], (1, [MAX_CELLS, 1])) is None
    assert joined([part, part], (1, [2, 1])) is not None


def test_a_slice_of_an_axis_that_no_array_holds_needs_it_whole() -> None:
    build = Builder()
    data = build.input("x", 1, HUGE, elem_type=TensorProto.FLOAT)
    piece = build.op("Slice", data, build.ints(0), build.ints(4), build.ints(1), name="piece")
    analysis = analysed(build.model(build.op("MatMul", piece, build.weights(4, 2))))
    assert analysis.lanes.read is not None
    assert analysis.lanes.read["x"].all()


def test_results_that_contradict_their_weights_say_nothing() -> None:
    build, data = stem()
    model = build.model(head(build, data))
    model.graph.value_info.append(helper.make_tensor_value_info(data, TensorProto.FLOAT, [1, 5, 4, 4]))
    analysis = analysed(model)
    known = analysis.lanes.view.known(data)
    assert known is None or known.varies.all()
