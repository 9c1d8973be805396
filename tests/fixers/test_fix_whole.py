"""The whole way on random models: decide, apply, prove, decide again; random policies and targets."""

from __future__ import annotations

import os

import onnx
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.cli.fix_promises import fix_request
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.attempt import attempt, prover_of
from onnxlint_cmsis.fixers.fix_model import fix_model
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization
from onnxlint_cmsis.fixers.rescaling import LIMIT, ROUNDING
from onnxlint_cmsis.fixers.snapshot import Snapshot
from support.draws import draws
from support.fix_random import Planned, models
from support.fix_rounding import unexplained
from support.lanes_checks import analysed
from support.nightly import one_of

EXAMPLES = int(os.environ.get("ONNXLINT_FIX_EXAMPLES", "1200"))
PARTS = 4
"""Tests that the examples are shared out to, so that processes can share the work."""
TARGETS = ["cortex-m0", "cortex-m4", "cortex-m55", "cortex-m7+nodsp"]


@st.composite
def requests(draw):
    return make_settings(
        targets=draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True)),
        release=draw(st.sampled_from(["7.0.0", "7.0.0", "6.0.0", "main"])),
        fix_policy=draw(st.sampled_from(["faster", "faster", "route", "align", "smaller"])),
        align=draw(st.sampled_from([2, 4, 8])),
        min_gain=0,
        unsafe_fixes=draw(st.booleans()),
        fix_budget_bytes=draw(st.sampled_from(["unlimited", "unlimited", 40])),
    )


def interface(model):
    return [value.SerializeToString() for value in (*model.graph.input, *model.graph.output)]


def explained(path, data, request):
    """Whether a plan of one round whose proof failed differs by nothing but floats rounded the other way."""
    start = Snapshot(path, data, request)
    run = attempt(start, prover_of(start))
    if Optimization.SHIPPED.value in run.trouble:  # with these optimisers it is what they make of it
        return True
    state, plan = run.end.source
    before, after = (onnx.load_model_from_string(data.data) for data in (run.start, run.end))
    return state is not run.start or not unexplained(Planned(analysed(before), plan), after, 6)


@pytest.mark.parametrize("part", one_of(PARTS, range(PARTS)))
@settings(max_examples=draws(EXAMPLES // PARTS), deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), chosen=requests())
def test_fixed_proven_and_stable(part, model, chosen):
    event(f"part {part}")
    data = model.SerializeToString()
    request = fix_request(chosen)
    prices = Prices(request.analysis.targets, predicted)
    fixed = fix_model("random.onnx", data, request, prices)
    result = fixed.result
    assert not result.failed, result.reason
    if any("not proven" in reason for reason in (result.reason, *(class_left.reason for class_left in result.left))):
        event("not proven")
        assert explained("random.onnx", data, request), (result.reason, result.left)
    if fixed.model is None:
        assert result.reason
        event(result.reason.split(":")[0][:60])
        return
    event(f"changed by {result.policy}")
    inexact = [rewrite for rewrite in result.rewrites if rewrite.steps is not None]
    assert max([rewrite.steps for rewrite in inexact], default=0) <= LIMIT + ROUNDING
    if result.proof is None:  # which is of all other changes
        assert (len(inexact), result.classes, result.added) == (len(result.rewrites), (), ())
        assert inexact
    else:
        assert result.proof.equal
    assert interface(onnx.load_model_from_string(fixed.model)) == interface(model)
    if result.policy == "faster":
        assert result.repairs or inexact or all(total.new_instructions <= total.instructions for total in result.totals)
    again = fix_model("random.onnx", fixed.model, request, prices).result
    if again.changed:  # a scale, which the second run measures from the new file, and what follows from it
        event("a scale changed in the second run alone")
        assert chosen.unsafe_fixes, (result, again)
        assert any(rewrite.steps is not None for rewrite in again.rewrites), (result, again)
