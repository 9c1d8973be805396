"""Intervals: what is exact, what varies, what may be no finite number, and how each type holds it."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.model.element_ranges import as_stored, limits, range_of, settled
from onnxlint_cmsis.model.interval_axes import along, lay, level, reduced
from onnxlint_cmsis.model.intervals import (
    Fault,
    Interval,
    between,
    either,
    exactly,
    finite,
    hull,
    interval_text,
    point,
    unknown,
    within,
)

NAN = np.nan


def vector(*values: float) -> Interval:
    return exactly(np.array(values))


def test_numbers_are_exact_and_what_is_not_finite_is_unknown() -> None:
    span = vector(1, NAN, np.inf)
    assert span.exact.tolist() == [True, False, False]
    assert span.varies.tolist() == [False, True, True]
    assert span.low is span.high


def test_margins_keep_zero_and_unknown() -> None:
    span = vector(0, 8, NAN).rounded(0.25)
    assert span.low[:2].tolist() == [0, 6]
    assert span.high[:2].tolist() == [0, 10]
    assert np.isnan(span.low[2])
    assert span.varies.tolist() == [False, False, True]


def test_a_fault_stays_the_first_one_and_forgets_the_elements_it_is_for() -> None:
    first, second = Fault("is NaN"), Fault("is infinite")
    span = vector(1, 2, 3).flawed(np.array([False, True, False]), first)
    span = span.flawed(np.array([True, False, False]), second)
    assert span.fault is first
    assert span.varies.tolist() == [True, True, False]
    assert vector(1).flawed(np.array([False]), first).fault is None


def test_either_of_two_varies_unless_they_are_one_number() -> None:
    span = hull(vector(1, 2, 3), vector(1, 5, NAN))
    assert span.low[:2].tolist() == [1, 2]
    assert span.high[:2].tolist() == [1, 5]
    assert span.varies.tolist() == [False, True, True]
    chosen = either(np.array([True, False]), vector(1, 2), vector(3, 4))
    assert chosen.low.tolist() == [1, 4]


def test_bounds_without_numbers_leave_unknown_elements_unknown() -> None:
    assert within(vector(5, NAN), 0, 1).low[0] == 0
    assert np.isnan(within(vector(5, NAN), 0, 1).low[1])
    assert finite(vector(5, NAN)).high[0] == np.inf
    assert np.isnan(finite(vector(5, NAN)).high[1])


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (point(0.0), "which holds 0"),
        (between(0.0, 0.5), "which holds 0 to 0.5"),
        (between(0.49999, 0.50001), "which holds about 0.5"),
        (between(1.0, np.inf), "which holds 1 or more"),
        (between(-np.inf, 1.0), "which holds 1 or less"),
        (between(-np.inf, np.inf), "whose value is not known"),
        (unknown(0), "whose value is not known"),
    ],
)
def test_words_for_a_person(held: Interval, words: str) -> None:
    assert interval_text(held) == words


@pytest.mark.parametrize(
    ("elem_type", "least", "most"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int4", -8, 7), ("bool", 0, 1), ("float32", -np.inf, np.inf)],
)
def test_limits_of_types(elem_type: str, least: float, most: float) -> None:
    assert limits(elem_type) == (least, most)
    assert range_of(elem_type).varies


def test_integers_that_do_not_fit_are_any_of_their_type() -> None:
    span = as_stored(vector(100, 200, NAN), "int8")
    assert span.low.tolist() == [100, -128, -128]
    assert span.high.tolist() == [100, 127, 127]
    assert span.varies.tolist() == [False, True, True]


def test_real_numbers_that_do_not_fit_are_no_numbers() -> None:
    assert as_stored(point(1e39), "float32").fault == Fault("is infinite")
    assert as_stored(between(0.0, 1e39), "float32").fault == Fault("may be infinite")
    assert as_stored(point(70000.0), "float16").fault == Fault("is infinite")
    assert as_stored(between(0.0, np.inf), "float32").fault is None
    assert as_stored(point(1e-40), "float32").holds(0)


def test_what_tells_one_value_depends_on_the_type() -> None:
    near = Interval(np.array([1.0, 1.0, 0.0]), np.array([1.001, 2.0, 0.0]), np.zeros(3, bool))
    assert settled(near, "float32").varies.tolist() == [False, True, False]
    assert settled(near, "int8").varies.tolist() == [True, True, False]
    assert settled(near, "float16").varies.tolist() == [True, True, False]


def test_levelling_hides_what_differs() -> None:
    table = exactly(np.array([[1.0, 1.0], [2.0, 3.0]]))
    span = along(table, 0)
    assert span.low.tolist() == [1, 2]
    assert span.high.tolist() == [1, 3]
    assert span.varies.tolist() == [False, True]
    assert level(table, [0, 1]).low.tolist() == [[1]]
    assert lay(vector(1, 2), 1, 3).low.shape == (1, 2, 1)


def test_a_mask_of_a_result_as_that_of_a_repeated_operand() -> None:
    mask = np.array([[True, False], [False, False]])
    assert reduced(mask, (1, 2)).tolist() == [[True, False]]
    assert reduced(mask, (2,)).tolist() == [True, False]


def test_nothing_is_known_along_an_axis_without_elements() -> None:
    empty = exactly(np.zeros((0, 3)))
    assert level(empty, [0]).low.shape == (1, 3)
    assert not level(empty, [0]).bounded.any()
    assert level(empty, [1]).low.shape == (0, 1)
    assert along(empty, 1).low.shape == (3,)
