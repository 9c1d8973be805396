"""Transposes of two axes, and transposed convolutions whose padding is more than the input spreads to."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.hazard_calls import CPUS, ids


@pytest.mark.parametrize("cpu", CPUS)
def test_two_axes_are_turned_also_where_they_stay(cpu: str) -> None:
    call = KernelCall("transpose_s8", Dims(1, 1, 3, 5), Dims(1, 1, 1, 1), Dims(1, 1, 3, 5), permutation=(0, 1))
    assert ids(call, cpu) == ["transpose-identity-of-two"]
    assert ids(call._replace(permutation=(1, 0), output_dims=Dims(1, 1, 5, 3)), cpu) == []
    assert ids(call._replace(input_dims=Dims(1, 1, 1, 5), output_dims=Dims(1, 1, 1, 5)), cpu) == []


@pytest.mark.parametrize("release", ["7.0.0", "main"])
@pytest.mark.parametrize("cpu", CPUS)
def test_padding_above_what_the_input_spreads_to_is_wrong_in_7_0_too(cpu: str, release: str) -> None:
    call = KernelCall("transpose_conv_s8", Dims(1, 2, 6, 4), Dims(5, 3, 5, 4), Dims(1, 1, 9, 5), padding=Pair(3, 0))
    assert "tconv-padding-above-input" in ids(call, cpu, release)
    assert ids(call._replace(padding=Pair(2, 0), output_dims=Dims(1, 2, 9, 5)), cpu, release) == []
