"""Versions of ONNX's operators that are said to mean the same compute the same in ONNX Runtime, to the bit."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest

from onnxlint_cmsis.formats.onnx.same_versions import SAME_MEANING
from support.onnx_drafts import built
from support.onnx_operations import FLOATS, Array, Operation
from support.onnx_pair_runs import EQUAL, ROUNDS, compared, drawn, session

KINDS = ("float32", "float64", "int8", "uint8", "int16", "int32", "int64")
"""Types of the data. Halves are left out: the versions of Max, Min, Mish and PRelu differ there."""
LATEST = 23
"""Operator set that every ONNX Runtime of the tests loads."""


def loaded(operation: Operation, kind: str, versions: tuple[int, ...]) -> Iterator[onnxruntime.InferenceSession]:
    """One session for each version that the runtime has a kernel for."""
    for version in versions:
        model = built([operation], np.dtype(kind), random.Random(1))
        model.opset_import[0].version = version
        try:
            yield session(model.SerializeToString())
        except Exception:
            continue


def result(runtime: onnxruntime.InferenceSession, feeds: dict[str, Array]) -> Array | None:
    """None where the kernel refuses the numbers: integers divided by 0."""
    try:
        return runtime.run(["y"], feeds)[0]
    except Exception:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_versions_that_mean_the_same_compute_the_same(kind: str) -> None:
    rng, pairs = np.random.default_rng(5), 0
    for operation in (operation for operation in FLOATS if operation.op in SAME_MEANING and not operation.domain):
        for versions in SAME_MEANING[operation.op]:
            first, *others = (*loaded(operation, kind, tuple(v for v in versions if v <= LATEST)), None)
            for other in filter(None, others if first is not None else ()):
                for number in range(ROUNDS):
                    feeds = {end.name: drawn(end, number, rng) for end in first.get_inputs()}
                    before, after = (result(runtime, feeds) for runtime in (first, other))
                    assert (before is None) == (after is None), (operation.op, versions)
                    assert before is None or compared(before, after) == EQUAL, (operation.op, versions)
                pairs += 1
    assert pairs > 20
