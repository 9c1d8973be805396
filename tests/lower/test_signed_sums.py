"""Sums of positive and of negative weights, against sums of real numbers."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.signed_sums import sums_of_integers


@pytest.mark.parametrize("elem_type", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("zero", [0, 3])
def test_sums_of_every_integer_are_those_of_real_numbers(elem_type: str, zero: int) -> None:
    limits = np.iinfo(elem_type)
    rows = np.random.default_rng(1).integers(limits.min, limits.max, (3, 257), dtype=elem_type, endpoint=True)
    rows[0], rows[1] = limits.min, limits.max
    sums = sums_of_integers(rows, AffineQuantization(elem_type, (0.5,), (zero,)), np.ones(3))
    assert sums is not None
    reals = (rows.astype(np.float64) - zero) * 0.5
    np.testing.assert_array_equal(sums.positive, np.where(reals > 0, reals, 0).sum(axis=1))
    np.testing.assert_array_equal(sums.negative, np.where(reals < 0, reals, 0).sum(axis=1))
