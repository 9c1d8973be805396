"""The proof that new lanes stay finite: random models with operators that are not defined everywhere, padded."""

from __future__ import annotations

import os

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import Freedom
from support.draws import draws
from support.fix_graphs import case
from support.linter import with_plan
from support.random_models import PARTIAL, RandomModel

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "400"))
NUDGE = np.float32(1 + 2.0**-22)
"""A factor of two roundings: what it changes, another order of a sum may change too (the cosine of a large number)."""
LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "QuantizeLinear")


def outputs(model: onnx.ModelProto, feed: np.ndarray, level: str) -> list[np.ndarray]:
    """Outputs in ONNX Runtime at a level of optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": feed})


@settings(max_examples=draws(EXAMPLES), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64 - 1), st.integers(1, 3))
def test_new_lanes_leave_every_finite_output_as_it_was(seed: int, more: int) -> None:
    drawn = case(RandomModel(PARTIAL, seed=seed).model())
    fixed = refused(drawn.graph, drawn.dimensions)
    free = [cls for cls in drawn.dimensions.classes if cls.freedom is not Freedom.LOCKED and cls.id not in fixed]
    plan = Plan({cls.id: (*range(cls.size), *[None] * more) for cls in free})
    try:
        changed = with_plan(drawn.model, drawn.graph, drawn.dimensions, plan)
    except NotAppliedError as reason:
        event(f"not applied: {reason}")
        return
    for scale in (1, 0, 8):
        feed = (np.random.default_rng(seed % 2**32).normal(size=(1, 3, 4, 4)) * scale).astype(np.float32)
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
            try:
                before = outputs(drawn.model, feed, level)
            except Fail:
                event("ONNX Runtime's optimiser makes a pool of the model that it does not take")
                continue
            if layers_read_finite(drawn.model, feed):
                compare(before, outputs(changed, feed, level), outputs(drawn.model, feed * NUDGE, level))
    event(f"{'some' if free else 'no'} class is free")


def layers_read_finite(model: onnx.ModelProto, feed: np.ndarray) -> bool:
    """Whether the model gives its layers finite numbers: a weight of 0 makes NaN of any other."""
    names = dict.fromkeys(node.input[0] for node in model.graph.node if node.op_type in LAYERS)
    seen = onnx.ModelProto.FromString(model.SerializeToString())
    del seen.graph.output[:]
    seen.graph.output.extend(helper.make_value_info(name, onnx.TypeProto()) for name in names if name != "x")
    return not seen.graph.output or all(np.isfinite(read).all() for read in outputs(seen, feed, "ORT_DISABLE_ALL"))


def compare(before: list[np.ndarray], after: list[np.ndarray], nudged: list[np.ndarray]) -> None:
    """What was finite stays as it was, to float accuracy and to what a nudge of the input changes."""
    for old, new, other in zip(before, after, nudged, strict=True):
        finite = np.isfinite(old)
        assert np.isfinite(new[finite]).all()
        was, now = old[finite].astype(np.float64), new[finite].astype(np.float64)
        swing = np.nan_to_num(np.abs(other[finite] - was), nan=np.inf)
        allowed = 1e-3 * np.abs(was) + 1e-4 * max(1.0, np.abs(was).max(initial=0)) + 16 * swing.max(initial=0)
        assert (np.abs(now - was) <= allowed).all(), f"differs by {np.abs(now - was).max()}"
