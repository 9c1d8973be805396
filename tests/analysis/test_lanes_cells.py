"""Indices of lanes, against those that the axes say."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.model.axes import Axis, AxisForm
from onnxlint_cmsis.model.axis_lanes import any_lane, indices_of
from support.axis_lanes import lanes

SIZES = (1, 2, 3)
"""Size of each leaf."""


@st.composite
def axes(draw: st.DrawFn, depth: int = 2) -> Axis:
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from(range(len(SIZES))))
        return Axis(AxisForm.LEAF, SIZES[leaf], leaf)
    form = draw(st.sampled_from([AxisForm.CONCAT, AxisForm.PRODUCT]))
    parts = tuple(draw(st.lists(axes(depth - 1), min_size=2, max_size=3)))
    sizes = [part.size for part in parts]
    return Axis(form, sum(sizes) if form is AxisForm.CONCAT else int(np.prod(sizes)), -1, parts)


@given(axes(), st.sampled_from(range(len(SIZES))), st.data())
def test_cells_are_the_indices_of_lanes(axis: Axis, leaf: int, data: st.DataObject) -> None:
    places = lanes(axis, leaf)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=axis.size, max_size=axis.size)), bool)
    touched = any_lane(axis, leaf, SIZES[leaf], mask)
    assert touched.tolist() == ([bool(mask[list(cells)].any()) for cells in places] or [False] * SIZES[leaf])
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=SIZES[leaf], max_size=SIZES[leaf])), bool)
    wanted = {index for lane, cells in enumerate(places) if chosen[lane] for index in cells}
    assert set(np.flatnonzero(indices_of(axis, leaf, chosen)).tolist()) == wanted


def test_one_element_of_a_mask_stands_for_all() -> None:
    pair = Axis(AxisForm.CONCAT, 5, -1, (Axis(AxisForm.LEAF, 2, 1), Axis(AxisForm.LEAF, 3, 2)))
    assert any_lane(pair, 2, 3, np.ones(1, bool)).tolist() == [True] * 3
    assert any_lane(pair, 0, 1, np.ones(1, bool)).tolist() == [False]


def test_sizes_that_contradict_each_other_need_every_lane() -> None:
    wrong = Axis(AxisForm.CONCAT, 6, -1, (Axis(AxisForm.LEAF, 2, 1), Axis(AxisForm.LEAF, 3, 2)))
    assert any_lane(wrong, 2, 3, np.zeros(6, bool)).all()
    assert any_lane(Axis(AxisForm.LEAF, 3, 2), 2, 2, np.zeros(3, bool)).all()
    assert any_lane(Axis(AxisForm.LEAF, 3, 2), 2, 3, np.zeros(2, bool)).all()


def test_a_symbolic_axis_has_no_indices() -> None:
    symbolic = Axis(AxisForm.LEAF, None, 0)
    with pytest.raises(ValueError, match="symbolic"):
        any_lane(symbolic, 0, 1, np.ones(1, bool))
    with pytest.raises(ValueError, match="symbolic"):
        indices_of(symbolic, 0, np.ones(1, bool))


def test_a_class_in_a_concatenation_looks_at_its_own_part_alone() -> None:
    parts = tuple(Axis(AxisForm.LEAF, 10_000, leaf) for leaf in range(100))
    whole, mask = Axis(AxisForm.CONCAT, 1_000_000, -1, parts), np.ones(1_000_000, bool)
    tracemalloc.start()
    try:
        assert all(any_lane(whole, leaf, 10_000, mask).all() for leaf in range(100))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
