"""Indices of lanes, against those that the axes say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.algebra.axes import Axis, AxisForm
from onnxlint_cmsis.algebra.cells import any_lane, indices_of, lane_rows
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
    found = any_lane(axis, leaf, SIZES[leaf], mask)
    assert found.tolist() == ([bool(mask[list(place)].any()) for place in places] or [False] * SIZES[leaf])
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=SIZES[leaf], max_size=SIZES[leaf])), bool)
    wanted = {index for lane, place in enumerate(places) if chosen[lane] for index in place}
    assert set(np.flatnonzero(indices_of(axis, leaf, chosen)).tolist()) == wanted


def test_a_symbolic_axis_has_no_indices() -> None:
    with pytest.raises(ValueError, match="symbolic"):
        lane_rows(Axis(AxisForm.LEAF, None, 0), 0)
