"""arm_transpose_s8: where 16-bit variables, or an order that is not looked at, move elements to the wrong place."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall

NO_DIMS = Dims(None, None, None, None)
U16 = 65535


def transpose(sizes: tuple[int, ...], order: tuple[int, ...]) -> KernelCall:
    ones = (1,) * (4 - len(sizes))
    moved = (sizes[axis] for axis in order)
    return KernelCall("transpose_s8", Dims(*ones, *sizes), NO_DIMS, Dims(*ones, *moved), permutation=order)


def hazards(call: KernelCall, isa: Isa, release: str = "7.0.0") -> set[str]:
    taken = route(call, parse_isa(isa.value, release))
    assert not taken.open_hazards
    return {hazard.id for hazard in taken.hazards}


def gathered_wrong(rows: int, columns: int) -> bool:
    """Whether a lane's offset, a multiple of the columns, does not fit its 16 bits."""
    return any(lane * columns > U16 for lane in range(min(rows, 8)))


@given(st.integers(1, 70_000), st.integers(1, 70_000), st.sampled_from(("7.0.0", "main")))
@example(8, 9362, "7.0.0")
@example(8, 9363, "7.0.0")
@example(3, 32768, "7.0.0")
@example(2, 65536, "7.0.0")
def test_two_axes_beyond_16_bits(rows: int, columns: int, release: str) -> None:
    call = transpose((rows, columns), (1, 0))
    wide = rows > U16 or columns > U16
    for isa in (Isa.SCALAR, Isa.DSP):
        assert hazards(call, isa, release) == ({"transpose-16-bit-sizes"} if wide else set())
    wrong = wide or gathered_wrong(rows, columns)
    assert hazards(call, Isa.MVE, release) == ({"transpose-16-bit-offsets"} if wrong else set())


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ((0, 1, 3, 2), {"transpose-16-bit-offsets"}),
        ((0, 2, 1, 3), set()),
        ((0, 3, 1, 2), set()),
        ((1, 0, 3, 2), set()),
    ],
)
def test_four_axes_go_through_16_bits_only_on_mve_where_the_first_two_stay(order, names) -> None:
    call = transpose((1, 2, 8, 9364), order)
    assert hazards(call, Isa.MVE) == names
    assert hazards(call, Isa.DSP) == set()


def test_an_order_that_moves_nothing_is_turned_on_mve() -> None:
    assert hazards(transpose((2, 3, 4, 5), (0, 1, 2, 3)), Isa.MVE) == {"transpose-identity"}
    assert hazards(transpose((2, 3, 4, 1), (0, 1, 2, 3)), Isa.MVE) == set()
    assert hazards(transpose((2, 3, 4, 5), (0, 1, 2, 3)), Isa.DSP) == set()
