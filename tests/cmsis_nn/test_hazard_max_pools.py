"""Max pools leave windows without input as they were."""

from __future__ import annotations

from itertools import product

import pytest

from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.hazard_calls import ids, taps_inside


@pytest.mark.parametrize(("entry", "hazard"), [("s8", "max-pool-empty-window"), ("s16", "max-pool-s16-empty-window")])
@pytest.mark.parametrize("release", ["4.0.0", "5.0.0", "7.0.0", "main"])
def test_a_max_pool_leaves_windows_without_input_as_they_were(entry: str, hazard: str, release: str) -> None:
    seen = set()
    for size, taps, stride, pad, output in product((1, 2, 5), (1, 2, 3), (1, 2), range(4), (1, 2, 4)):
        call = KernelCall(
            f"max_pool_{entry}", Dims(1, 4, size, 3), Dims(1, 1, taps, 1), Dims(1, 4, output, 3), Pair(1, stride),
            Pair(0, pad),
        )  # fmt: skip
        empty = any(not taps_inside(size, taps, column * stride - pad, 1) for column in range(output))
        assert (hazard in ids(call, release=release)) is empty, call
        seen.add(empty)
    assert seen == {False, True}
