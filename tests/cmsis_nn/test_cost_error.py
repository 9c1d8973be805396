"""The documented error of predicted instructions: measured calls keep within it, and it is no larger than they need."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from onnxlint_cmsis.cmsis_nn.cost_error import FAMILIES, NO_BIAS, documented_error, has_numbers_of_another
from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import cost_of_route, instructions_range, route
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair, Target
from support import paths
from support.targets import target_of

EVERY = 9
"""One of so many measured shapes is looked at."""
BUILDS = {
    "scalar": ("cortex-m3", "gcc@12.2"),
    "dsp": ("cortex-m4", "gcc@12.2"),
    "mve": ("cortex-m55", "gcc@12.2"),
    "cortex-m0": ("cortex-m0", "gcc@12.2"),
    "cortex-m23": ("cortex-m23", "gcc@12.2"),
    "dsp-gcc13.2": ("cortex-m4", "gcc@13.2"),
    "mve-clang19.1": ("cortex-m55", "clang@19.1"),
}
DENSE = KernelCall("fully_connected_s8", Dims(1, 1, 1, 64), Dims(64, 1, 1, 24), Dims(1, 1, 1, 24), per_channel=False)


class Measured(NamedTuple):
    """One call: what it took, and what is predicted."""

    call: KernelCall
    target: Target
    least: int
    most: int
    counted: float

    @property
    def beyond(self) -> float:
        return max(self.least - self.counted, self.counted - self.most, 0.0)


def measured() -> Iterator[Measured]:
    with gzip.open(paths.DATA / "cost_later.jsonl.gz", "rt") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for row in rows[::EVERY]:
        shape = {name: value for name, value in row.items() if name not in ("part", "instructions")}
        for build, counted in row["instructions"].items():
            release, _, name = build.partition("-")
            if name not in BUILDS:
                continue
            cpu, compiler = BUILDS[name]
            call, target = call_of(shape), target_of(cpu, release, compiler)
            taken = route(call, target)
            number = cost_of_route(call, target, taken)
            ends = instructions_range(call, target, taken) or (None if number is None else (number, number))
            if ends is not None:
                yield Measured(call, target, *ends, counted)


def test_measured_calls_keep_within_the_documented_error() -> None:
    seen = list(measured())
    assert len(seen) > 3_000
    outside = [
        (row, allowed)
        for row in seen
        if row.beyond > (allowed := documented_error(row.call, row.target, route(row.call, row.target))).of(row.most)
    ]
    assert outside == []


POOLS = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (6, 1), (6, 2), (10, 1), (10, 2))
"""Channels and width of the window of maximum pools, 20x20 in, windows side by side."""
COUNTED = {
    "cortex-m0": (54791, 23527, 68989, 29893, 83190, 35667, 125789, 96200, 182584, 160080),
    "cortex-m23": (53311, 22838, 67311, 29155, 81310, 34879, 123310, 94362, 179300, 157136),
    "cortex-m3": (38055, 16462, 43357, 19887, 47455, 22412, 63155, 35636, 83153, 49386),
    "cortex-m4": (37678, 16649, 43078, 20099, 47278, 22649, 63277, 35948, 83676, 49798),
    "cortex-m55": (23339, 16133, 23764, 16235, 24188, 16337, 25464, 16660, 27164, 17085),
}
"""Instructions of these with CMSIS-NN 7.0.0, gcc 12.2 (firmware_check sweep)."""


@pytest.mark.parametrize("cpu", COUNTED)
def test_pools_of_few_channels_keep_within_the_documented_error(cpu: str) -> None:
    target = target_of(cpu, "7.0.0", "gcc@12.2")
    for (channels, window), counted in zip(POOLS, COUNTED[cpu], strict=True):
        plane, pixels = Dims(1, 20, 20, channels), Dims(1, 20 // window, 20 // window, channels)
        side_by_side = Pair(window, window)
        call = KernelCall("max_pool_s8", plane, Dims(1, window, window, 1), pixels, stride=side_by_side)
        taken = route(call, target)
        predicted = cost_of_route(call, target, taken)
        assert predicted is not None
        assert abs(predicted - counted) <= documented_error(call, target, taken).of(predicted)


def test_a_number_of_another_cpu_or_of_a_layer_with_a_bias_may_be_further_off() -> None:
    m4, m7 = target_of("cortex-m4", "7.0.0", "gcc@12.2"), target_of("cortex-m7", "7.0.0", "gcc@12.2")
    taken = route(DENSE, m4)
    conv = taken._replace(effective="arm_convolve_s8")
    assert documented_error(DENSE, m4, conv).percent < documented_error(DENSE, m7, conv).percent
    bare, old = DENSE._replace(bias=False), target_of("cortex-m4", "6.0.0")
    assert documented_error(bare, m4, taken) == documented_error(DENSE, m4, taken)
    assert documented_error(bare, old, taken).percent == NO_BIAS
    clang = target_of("cortex-m4", "7.0.0", "clang@19.1")
    row = next(row for row in FAMILIES if row.layers == "depthwise")
    assert documented_error(DENSE, clang, taken._replace(effective=row.kernels[0])).percent == row.clang


@pytest.mark.parametrize(
    ("cpu", "another"), [("cortex-m0", False), ("cortex-m55", False), ("cortex-m7", True), ("cortex-m33", True)]
)
def test_which_cpu_has_the_numbers_of_another(cpu: str, another: bool) -> None:
    assert has_numbers_of_another(target_of(cpu)) is another
