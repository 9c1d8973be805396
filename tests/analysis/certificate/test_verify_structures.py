"""Files of different structure: what the checker gives one number computes one output, in ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
import pytest

from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.table import Numbers
from onnxlint_cmsis.analysis.certificate.values import Lanes
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.formats.format import ONNX
from support.chain_computing import COMPUTING
from support.chain_moves import STEPS
from support.nightly import one_of
from support.small_chains import FIRST, Chain

MODELS = int(os.environ.get("ONNXLINT_EXAMPLES", "400"))
"""Models that are held against each other."""


def assert_equal_numbers_mean_equal_outputs(chains: Iterable[Chain]) -> tuple[int, int]:
    """Give how many chains the checker knows, and how many of them share their number with another one."""
    table, groups = Numbers(), dict[tuple[object, ...], list[Chain]]()
    for chain in chains:
        model = Model(ONNX.load("m.onnx", chain.model.SerializeToString()), table)
        value = model.values.get("y")
        if isinstance(value, Lanes):
            groups.setdefault((value.shape, model.over(value, ()).ids.tobytes()), []).append(chain)
    inputs = [np.random.default_rng(seed).integers(-128, 128, FIRST).astype(np.int8) for seed in range(20)]
    shared = [group for group in groups.values() if len({chain.model.SerializeToString() for chain in group}) > 1]
    for group in shared:
        sessions = [RuntimeSession(chain.model.SerializeToString(), Optimization.NONE) for chain in group]
        for values in inputs:
            first, *others = (session.run({"x": values})[0].astype(int) for session in sessions)
            for chain, other in zip(group[1:], others, strict=True):
                allowed = group[0].averages + chain.averages  # their sums of floats may round a half either way
                assert np.abs(first - other).max(initial=0) <= allowed, (group[0].nodes, chain.nodes)
    return sum(map(len, groups.values())), sum(map(len, shared))


def test_random_chains_with_one_number_compute_the_same() -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(Chain(seed, 4, STEPS) for seed in range(MODELS))
    assert known > 0.9 * MODELS
    assert shared > 0.05 * MODELS


def test_random_chains_that_compute_with_one_number_compute_the_same() -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(
        Chain(seed, 3, [*STEPS, *2 * COMPUTING], more=True) for seed in range(MODELS)
    )
    assert known > 0.9 * MODELS
    assert shared > 0.05 * MODELS


def padded_chains(most: int) -> Iterator[Chain]:
    """Every Pad of the plane by less than `most`, what may turn the plane, and a window."""
    for amounts in product(range(most), repeat=4):
        for way in ("as it is", "turned", "reshaped", "behind zeros"):
            for last in ("1 x 1", "largest", "average"):
                chain = Chain()
                ahead, behind = amounts[:2], amounts[2:]
                chain.add("Pad", chain.stored([0, 0, *ahead, 0, 0, *behind]), round_too=True)
                plane = [size + a + b for size, a, b in zip(FIRST[2:], ahead, behind, strict=True)]
                if way == "turned":
                    chain.add("Transpose", perm=[0, 1, 3, 2])
                    plane = plane[::-1]
                elif way == "reshaped":
                    plane = plane[::-1]
                    chain.add("Reshape", chain.stored([1, 2, *plane]))
                elif way == "behind zeros":
                    chain.add("Pad", chain.stored([0, 0, 0, 1, 0, 0, 0, 0]), round_too=True)
                    plane[1] += 1
                chain.shape = (1, 2, *plane)
                if last == "1 x 1":
                    convolve(chain)
                else:
                    op, counted = ("MaxPool", {}) if last == "largest" else ("AveragePool", {"count_include_pad": 1})
                    chain.averages = int(last == "average")
                    chain.add(op, round_too=True, kernel_shape=[2, 2], auto_pad="SAME_UPPER", **counted)
                yield chain


def convolve(chain: Chain) -> None:
    data = chain.tensor
    chain.tensor = chain.stored([[[[16]], [[-32]]]], np.int8)
    chain.add("DequantizeLinear", "s", "z")
    weights, chain.tensor = chain.tensor, data
    chain.add("Conv", weights, round_too=True)
    chain.shape = (chain.shape[0], 1, *chain.shape[2:])


@pytest.mark.parametrize("most", one_of(2, (2, 3)))
def test_padded_planes_with_one_number_compute_the_same(most: int) -> None:
    known, shared = assert_equal_numbers_mean_equal_outputs(padded_chains(most))
    assert known == 3 * 4 * most**4
    assert shared > (most - 1) ** 4 * 3
