"""The lemmas about rounding that `verify` rests on, proven by z3 over whole numbers of any size.

The terms of z3 are written a second time here; tests hold them against `model.fixed_point` on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.formats.format import TFLITE, format_of
from onnxlint_cmsis.model.fixed_point import quantize_multiplier, requantize, requantize_once, requantize_wide
from onnxlint_cmsis.operators.integers import NotCoveredError, quantized_multiplier, requantized
from support import paths
from support.lies import planned

z3 = pytest.importorskip("z3", reason="needs z3-solver, of the extra `test`")

A, B, C, D = z3.Ints("a b c d")
Term = z3.ArithRef
Rounding = Callable[[Term], Term]


def proven(claim: z3.BoolRef, *given: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*given, z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def monotone(function: Rounding) -> bool:
    return proven(function(A) <= function(B), A <= B)


def high(product: Term) -> Term:
    """The doubling high multiply behind its product: to the nearest, by a division that cuts towards 0."""
    nudged = product + z3.If(product >= 0, 1 << 30, 1 - (1 << 30))
    return z3.If(nudged >= 0, nudged / (1 << 31), -(-nudged / (1 << 31)))


def shifted(value: Term, right: int) -> Term:
    """The rounding shift to the right: halves go away from 0."""
    half = ((1 << right) - 1) >> 1
    return value / (1 << right) + z3.If(value % (1 << right) > half + z3.If(value < 0, 1, 0), 1, 0)


def nearest(product: Term, places: int) -> Term:
    """One rounding: halves go up."""
    return (product + (1 << (places - 1))) / (1 << places) if places > 0 else product * (1 << -places)


def ways(value: Term, multiplier: int, shift: int, bits: int) -> tuple[Term, ...]:
    if bits == 16:
        short = 0x7FFF if multiplier >= 0x7FFF0000 else (multiplier + (1 << 15)) >> 16
        return (nearest(value * short, 15 - shift),)
    twice = shifted(high(value * multiplier * (1 << max(shift, 0))), max(-shift, 0))
    return twice, nearest(value * multiplier, 31 - shift)


@given(st.floats(-31, 29), st.integers(-(2**31), 2**31 - 1), st.sampled_from((8, 16)))
def test_the_terms_are_what_the_checker_computes(power: float, value: int, bits: int) -> None:
    multiplier, shift = quantized_multiplier(2**power)
    terms = ways(z3.IntVal(value), multiplier, shift, bits)
    try:
        assert requantized(value, multiplier, shift, bits) == tuple(z3.simplify(term).as_long() for term in terms)
    except NotCoveredError:
        assert not -(2**31) <= value << shift < 2**31


@given(st.floats(-31, 29), st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_arrays_are_rounded_as_numbers_are(power: float, values: list[int]) -> None:
    multiplier = quantize_multiplier(2**power)
    fitting = [value for value in values if abs(value << max(multiplier.shift, 0)) < 2**31]
    for way in (requantize, requantize_once, requantize_wide):
        assert way(np.array(fitting, np.int64), multiplier).tolist() == [way(value, multiplier) for value in fitting]


def test_requantization_is_monotone_for_every_multiplier_and_shift() -> None:
    """So a lane is constant where the least and the greatest sum come out as one number."""
    assert proven(A * C <= B * C, A <= B, C >= 0)
    assert monotone(high)
    assert all(monotone(lambda value, right=right: shifted(value, right)) for right in range(32))
    assert all(monotone(lambda value, places=places: nearest(value, places)) for places in range(-16, 63))


def met() -> Iterator[tuple[int, int, int]]:
    """Multipliers and shifts of random models, and of a real one where it is there."""
    files = [TFLITE.load("m.tflite", planned(seed).new) for seed in (0, 3, 5)]
    real = paths.SHARED / "models" / "kws_ds_cnn_int8_tf.onnx"
    files += [format_of(real.name).load(str(real))] if real.exists() else []
    for file in files:
        table = Numbers()
        Model(file, table)
        for key in map(table.key, range(table.count)):
            if key[0] == "requantize":
                yield key[2], key[3], table.key(key[1])[3]
            elif key[0] == "rescale":
                yield key[3], key[4], 8


def test_requantization_is_monotone_for_every_multiplier_and_shift_met() -> None:
    """The same without the parts: the whole function, and what comes out of a range between two ends."""
    pairs_met = sorted({*met()})
    assert len(pairs_met) > 30
    for multiplier, shift, bits in pairs_met:
        for below, above in zip(ways(A, multiplier, shift, bits), ways(B, multiplier, shift, bits), strict=True):
            assert proven(below <= above, A <= B), (multiplier, shift, bits)


def test_a_sum_that_is_constant_at_both_ends_is_constant_between_them() -> None:
    """With the zero-point and the bounds of an activation, for any function that is monotone."""
    function = z3.Function("function", z3.IntSort(), z3.IntSort())
    clamped = [z3.If(v < -128, -128, z3.If(v > 127, 127, v)) for v in (function(n) + D for n in (A, B, C))]
    ordered = [function(A) <= function(B), function(B) <= function(C)]
    assert proven(clamped[1] == clamped[0], clamped[0] == clamped[2], *ordered)
    assert not proven(clamped[1] == clamped[0], *ordered)


def test_a_scale_that_stays_gives_the_integers_that_it_reads() -> None:
    """QUANTIZE to the same scale and zero-point is left out: its factor is 1."""
    assert all(proven(way == A) for way in ways(A, *quantized_multiplier(1.0), 8))


def test_128_off_integers_and_zero_points_change_no_sum_and_no_bound() -> None:
    """uint8 is read as int8."""
    assert proven(A - B == (A - 128) - (B - 128))
    unsigned, signed = (z3.If(A + z < low, low, z3.If(A + z > low + 255, low + 255, A + z)) for z, low in
                        ((B, 0), (B - 128, -128)))  # fmt: skip
    assert proven(unsigned - 128 == signed)


def test_a_product_of_two_ranges_lies_between_its_corners() -> None:
    """Mul: over real numbers, so over integers too."""
    a, b, low, high_, least, most = z3.Reals("a b low high least most")
    inside = [low <= a, a <= high_, least <= b, b <= most]
    corners = [x * y for x in (low, high_) for y in (least, most)]
    assert proven(z3.Or(*(a * b >= corner for corner in corners)), *inside)
    assert proven(z3.Or(*(a * b <= corner for corner in corners)), *inside)


@pytest.mark.parametrize("count", [*range(1, 50), 64, 100, 144, 256, 1024, 2304])
def test_an_average_lies_between_the_least_and_the_greatest(count: int) -> None:
    """Rounded to the nearest, halves away from 0, or cut towards 0: pools and means of integers."""
    for half in (count // 2, 0):
        average = z3.If(A > 0, (A + half) / count, -((-A + half) / count))
        assert proven(z3.And(average >= B, average <= C), count * B <= A, count * C >= A)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_product_with_an_input_less_its_zero_point_is_bounded(bits: int) -> None:
    """What the bound of a sum rests on: |input - zero-point| is 2**bits - 1 at most."""
    top = 1 << (bits - 1)
    held = [z3.And(-top <= n, n < top) for n in (A, B)]
    assert proven(z3.And(-(2 * top - 1) <= A - B, 2 * top - 1 >= A - B), *held)
