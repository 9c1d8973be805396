"""Differences that a resized model may have without being wrong: floats summed in another order.

A float between DequantizeLinear and QuantizeLinear that lies on the border between two steps may be rounded the other
way once its sum is taken in another order. Node by node, this tells such a difference from any other.
"""

from __future__ import annotations

import numpy as np
import onnx

from onnxlint_cmsis.analysis.demand import Demand
from onnxlint_cmsis.analysis.known_lanes import fill_in
from onnxlint_cmsis.analysis.known_view import KnownView
from onnxlint_cmsis.fixers.proof.branches import with_outputs
from onnxlint_cmsis.fixers.proof.inputs import feed_of, model_inputs, settings
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.model.axes import Axis, placement
from support.fix_random import Planned

SAME, ROUNDED, OTHER = 0, 1, 2
"""How a tensor differs: not at all; as float sums do; as what was made of a number on a border."""
ROUNDING = 1e-4
"""Largest difference of float sums in another order, as a share of the numbers or of 1."""
Kept = dict[int, tuple[int | None, ...]]


def unexplained(drawn: Planned, changed: onnx.ModelProto, inputs: int) -> str:
    """First tensor that differs more than rounding can explain, empty where there is none."""
    case, plan = drawn
    view = KnownView(case.graph, case.read)
    fill_in(view)
    masks = Demand(view).masks
    computed = [
        (node, name) for node in case.graph.nodes for name in node.outputs if name and not view.is_constant(name)
    ]
    names = [name for _, name in computed]
    taken = model_inputs(case.model, {})
    setting = next(settings(taken))
    for level in (Optimization.DEFAULT, Optimization.NONE):
        sessions = [RuntimeSession(with_outputs(model, names), level) for model in (case.model, changed)]
        for number in range(inputs):
            values = feed_of(taken, setting, number, 0)
            old, new = (dict(zip(names, session.run(values, names), strict=True)) for session in sessions)
            states: dict[str, int] = {}
            for node, name in computed:
                axes = case.dimensions.axes(name) or ()
                needed = np.broadcast_to(masks.get(name, np.zeros((), bool)), old[name].shape)
                pair = _common(old[name], needed, new[name], axes, dict(plan.kept))
                before = max((states.get(source, SAME) for source in node.inputs), default=SAME)
                states[name] = _state(*pair, before, quantizes=node.op_type == "QuantizeLinear")
                if states[name] < SAME:
                    return f"{name} ({level.value})"
    return ""


def _common(
    old: np.ndarray, needed: np.ndarray, new: np.ndarray, axes: tuple[Axis, ...], kept: Kept
) -> tuple[np.ndarray, np.ndarray]:
    """What both tensors hold, in the same order, where it is needed."""
    for index, axis in enumerate(axes):
        places = placement(axis, kept)
        stays = [index for index, source in enumerate(places) if source is not None]
        sources = [source for source in places if source is not None]
        old, needed = np.take(old, sources, index), np.take(needed, sources, index)
        new = np.take(new, stays, index)
    return old[needed], new[needed]


def _state(old: np.ndarray, new: np.ndarray, before: int, *, quantizes: bool) -> int:
    """How a tensor differs, given how its node's inputs do; -1 where that does not explain it."""
    same = (old == new) | (np.isnan(old) & np.isnan(new)) if old.dtype.kind == "f" else old == new
    if same.all():
        return SAME
    apart = np.abs(old.astype(np.float64) - new.astype(np.float64))[~same].max()
    if old.dtype.kind == "f" and apart <= ROUNDING * max(1.0, float(np.abs(old).max())):
        return max(before, ROUNDED)
    if before == OTHER or (before == ROUNDED and quantizes and apart <= 1):
        return OTHER
    return -1
