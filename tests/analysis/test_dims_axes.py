"""Resolved axes: where the lanes of a class sit, checked against what numpy does to the elements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.model.axes import Axis, AxisForm, axis_text, leaves, placement, resized
from support.axis_lanes import lanes


def leaf(size: int | None, number: int) -> Axis:
    return Axis(AxisForm.LEAF, size, number)


def concat(*parts: Axis) -> Axis:
    return Axis(AxisForm.CONCAT, sum(part.size or 0 for part in parts), -1, parts)


def product(*factors: Axis) -> Axis:
    return Axis(AxisForm.PRODUCT, math.prod(factor.size or 0 for factor in factors), -1, factors)


def test_lanes_of_an_nchw_flatten_are_blocks() -> None:
    plane = np.arange(3 * 2 * 2).reshape(3, 2, 2)
    flat = product(leaf(3, 0), leaf(2, 1), leaf(2, 2))
    assert lanes(flat, 0) == tuple(tuple(plane[channel].reshape(-1).tolist()) for channel in range(3))
    assert lanes(flat, 1) == tuple(tuple(sorted(plane[:, row].reshape(-1).tolist())) for row in range(2))


def test_lanes_of_an_nhwc_flatten_interleave() -> None:
    plane = np.arange(2 * 2 * 3).reshape(2, 2, 3)
    flat = product(leaf(2, 1), leaf(2, 2), leaf(3, 0))
    assert lanes(flat, 0) == tuple(tuple(plane[..., channel].reshape(-1).tolist()) for channel in range(3))


def test_lanes_of_segments_start_where_they_start() -> None:
    axis = concat(leaf(2, 0), leaf(3, 1), leaf(2, 0))
    assert lanes(axis, 1) == ((2,), (3,), (4,))
    assert lanes(axis, 0) == ((0, 5), (1, 6))
    assert lanes(axis, 9) == ()


def test_lanes_of_nested_structure() -> None:
    axis = product(concat(leaf(1, 0), leaf(2, 1)), leaf(2, 2))
    assert lanes(axis, 1) == ((2, 3), (4, 5))
    assert lanes(axis, 2) == ((0, 2, 4), (1, 3, 5))


def test_padding_a_flattened_class_puts_blocks_at_its_end() -> None:
    flat = product(leaf(2, 0), leaf(3, 1))
    assert placement(flat, {0: (0, 1, None)}) == (0, 1, 2, 3, 4, 5, None, None, None)
    assert placement(flat, {1: (0, 1, 2, None)}) == (0, 1, 2, None, 3, 4, 5, None)


def test_removing_a_lane_takes_it_from_every_block() -> None:
    assert placement(product(leaf(2, 0), leaf(3, 1)), {1: (0, 2)}) == (0, 2, 3, 5)
    assert placement(concat(leaf(2, 0), leaf(3, 1)), {0: (1,)}) == (1, 2, 3, 4)


def test_text_reads_like_the_structure() -> None:
    assert axis_text(leaf(64, 0)) == "64"
    assert axis_text(concat(leaf(8, 0), leaf(8, 1))) == "[8 + 8]"
    assert axis_text(product(leaf(4, 0), leaf(3, 1))) == "12 = 4 x 3"
    assert axis_text(product(concat(leaf(4, 0), leaf(2, 1)), leaf(3, 2))) == "18 = [4 + 2] x 3"
    assert axis_text(leaf(None, 0)) == "?"


def test_symbolic_sizes_have_no_indices() -> None:
    with pytest.raises(ValueError, match="symbolic"):
        lanes(leaf(None, 0), 0)
    with pytest.raises(ValueError, match="symbolic"):
        placement(leaf(None, 0), {})


def axes() -> st.SearchStrategy[Axis]:
    simple = st.builds(leaf, st.integers(1, 4), st.integers(0, 3)).map(lambda node: leaf(node.leaf % 3 + 2, node.leaf))
    return st.recursive(
        simple,
        lambda inner: st.lists(inner, min_size=2, max_size=3).flatmap(
            lambda parts: st.sampled_from([concat(*parts), product(*parts)])
        ),
        max_leaves=5,
    )


def cells(axis: Axis) -> list[frozenset[tuple[int, int]]]:
    """For each index, the (leaf, lane) pairs it belongs to, by running the structure."""
    if axis.form is AxisForm.LEAF:
        return [frozenset({(axis.leaf, lane)}) for lane in range(axis.size or 0)]
    inner = [cells(part) for part in axis.parts]
    if axis.form is AxisForm.CONCAT:
        return [cell for part in inner for cell in part]
    grid = np.stack(np.meshgrid(*[np.arange(len(part)) for part in inner], indexing="ij"), -1).reshape(-1, len(inner))
    return [frozenset().union(*(inner[part][index] for part, index in enumerate(row))) for row in grid]


@given(axes())
def test_lanes_are_the_cells_that_hold_them(axis: Axis) -> None:
    sets = cells(axis)
    assert len(sets) == axis.size
    for number in leaves(axis):
        expected: dict[int, list[int]] = {}
        for index, cell in enumerate(sets):
            for held, lane in sorted(cell):
                if held == number:
                    expected.setdefault(lane, []).append(index)
        assert lanes(axis, number) == tuple(tuple(expected[lane]) for lane in sorted(expected))


@given(axes(), st.data())
def test_placement_keeps_what_has_no_new_lane(axis: Axis, data: st.DataObject) -> None:
    number = data.draw(st.sampled_from(leaves(axis)))
    size = number % 3 + 2
    padded = placement(axis, {number: (*range(size), None)})
    assert [old for old in padded if old is not None] == list(range(axis.size or 0))
    assert len(padded) == resized(axis, {number: size + 1})
    removed = placement(axis, {number: tuple(range(1, size))})
    gone = set(lanes(axis, number)[0])
    assert removed == tuple(index for index in range(axis.size or 0) if index not in gone)
