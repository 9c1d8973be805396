"""The proof that a plan changes no output: random models, random plans, every style of quantization."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization
from support.dims_graphs import check_shapes
from support.draws import draws
from support.fix_random import Planned, planned, sizes
from support.fix_rounding import unexplained
from support.linter import with_plan
from support.nightly import one_of
from support.proofs import prove

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "2000"))
PARTS = 4
"""Tests that the examples are shared out to, so that processes can share the work."""
INPUTS = 6


@pytest.mark.parametrize("part", one_of(PARTS, range(PARTS)))
@settings(max_examples=draws(EXAMPLES // PARTS), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=planned())
def test_outputs_stay_as_they_are(part: int, drawn: Planned) -> None:
    event(f"part {part}")
    analysis, plan = drawn
    before = analysis.model.SerializeToString()
    changed = with_plan(analysis.model, analysis.graph, analysis.dimensions, plan)
    check_shapes(changed, analysis.dimensions, sizes(plan))
    proof = prove(before, changed.SerializeToString(), inputs=range(INPUTS))
    assume(proof.ran)  # ONNX Runtime's optimiser rejects some valid mixtures of int8 and uint8
    lossy = Optimization.SHIPPED.value in proof.reason  # it is what these optimisers make of it
    if not proof.equal and not lossy:
        assert not unexplained(drawn, changed, INPUTS), proof.reason
