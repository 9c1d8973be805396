"""The bound of an LSTM's tanh holds for the output of a whole call, in which the cell state adds up errors of steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import Dims, FloatCall, KernelCall
from support.targets import target_of

Numbers = NDArray[np.float64]
STEPS = (1, 2, 5, 20)
CASES = 50_000
ONE_TANH = 0.025


def quotient(x: Numbers) -> Numbers:
    """What arm_nn_tanh_scalar_ref_f16 takes for tanh, without its roundings."""
    return np.where(np.abs(x) > 3, np.sign(x), x * (27 + x * x) / (27 + 9 * x * x))


def saturated(x: Numbers) -> Numbers:
    """What arm_nn_tanh_scalar_ref_f32 takes for tanh, without its roundings."""
    return np.where(np.abs(x) > 4, np.sign(x), np.tanh(x))


TAKEN = {"f16": quotient, "f32": saturated}


def bound_of(kind: str, steps: int) -> float:
    """The bound that is stated of a call."""
    call = KernelCall(
        f"lstm_unidirectional_{kind}", Dims(1, 1, steps, 3), Dims(None, None, None, None), Dims(1, 1, steps, 4),
        initial_state=False, floating=FloatCall(),
    )  # fmt: skip
    taken = route(call, target_of("cortex-m4", "main"))
    (row,) = (row for row in taken.inexact if row.id.startswith("lstm-tanh"))
    assert row.bound is not None
    bound = row.bound.of(taken.seen)
    assert bound is not None
    return bound


def largest_error(kind: str, steps: int) -> float:
    """The largest error seen of outputs without recurrent weights, over random gates."""
    generator = np.random.default_rng(steps)
    exact, ours = np.zeros(CASES), np.zeros(CASES)
    for _ in range(steps):
        sums = generator.choice([0.3, 1.0, 1.6, 2.2, 4.2], CASES) * generator.choice([-1, 1, 1], CASES)
        given, forget = generator.choice([0.0, 0.5, 1.0], CASES), generator.choice([0.5, 1.0, 1.0], CASES)
        exact = forget * exact + given * np.tanh(sums)
        ours = forget * ours + given * TAKEN[kind](sums)
    return float(np.abs(TAKEN[kind](ours) - np.tanh(exact)).max())


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("kind", sorted(TAKEN))
def test_the_bound_holds_for_the_output_of_all_steps(kind: str, steps: int) -> None:
    assert largest_error(kind, steps) <= bound_of(kind, steps)


def test_five_steps_are_off_by_more_than_one_tanh() -> None:
    assert largest_error("f16", 5) > 0.0286 > ONE_TANH


def test_an_output_is_off_by_no_more_than_it_can_be() -> None:
    assert bound_of("f16", 5) == pytest.approx(6 * ONE_TANH)
    assert bound_of("f16", 10_000) <= 2
