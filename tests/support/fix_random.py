"""Random models with a random plan for their classes: lanes come, and lanes that do nothing go."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

import onnx
from hypothesis import strategies as st
from onnx import helper

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.ground.types import Freedom
from support.lanes_checks import Analysed, analysed
from support.linter import with_plan
from support.random_models import CHAINS, GEOMETRY, LANES, random_models


class Planned(NamedTuple):
    """A model with a plan."""

    analysis: Analysed
    plan: Plan

    def __repr__(self) -> str:
        return f"{onnx.printer.to_text(self.analysis.model)}\n{self.plan}"


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """A model in any style; constants may be shared, and be nodes."""
    model, _ = draw(random_models(draw(st.sampled_from([CHAINS, CHAINS, CHAINS, LANES, GEOMETRY]))))
    if draw(st.booleans()):
        share_equal_constants(model)
    if draw(st.booleans()):
        make_constant_nodes(model, random.Random(draw(st.integers(0, 99))))
    if draw(st.booleans()):
        del model.graph.value_info[:]
    return model


def _free(analysis: Analysed) -> list[DimensionClass]:
    """Classes whose size a plan may change."""
    fixed = refused(analysis.graph, analysis.dimensions)
    return [
        group for group in analysis.dimensions.classes if group.freedom is not Freedom.LOCKED and group.id not in fixed
    ]


@st.composite
def planned(draw: st.DrawFn, unsafe: bool = False) -> Planned:
    """Lanes that may go do, or stay, one by one; up to two new ones come, at any place."""
    analysis = analysed(draw(models()))
    kept: dict[int, tuple[int | None, ...]] = {}
    removed: dict[int, list[int]] = {}
    for group in _free(analysis):
        lanes = analysis.lanes.classes[group.id]
        able = sorted({*lanes.exact, *(lanes.unsafe if unsafe else ())})
        gone = set(able) if draw(st.booleans()) else draw(st.sets(st.sampled_from(able))) if able else set()
        new: list[int | None] = [lane for lane in range(group.size) if lane not in gone]
        for _ in range(draw(st.integers(0, 2))):
            new.insert(draw(st.integers(0, len(new))), None)
        if new != list(range(group.size)):
            kept[group.id] = tuple(new)
            removed[group.id] = sorted(gone)
    return Planned(analysis, Plan(kept, analysis.lanes.increments(removed)))


def changed_model(model: onnx.ModelProto, seed: int) -> tuple[onnx.ModelProto, onnx.ModelProto] | None:
    """A model and the same with a plan that a seed draws: lanes go, and up to two come to each class; None for none."""
    analysis, choices = analysed(model), random.Random(seed)
    kept: dict[int, tuple[int | None, ...]] = {}
    removed: dict[int, list[int]] = {}
    for group in _free(analysis):
        gone = {lane for lane in analysis.lanes.classes[group.id].exact if choices.random() < 0.8}
        new: list[int | None] = [lane for lane in range(group.size) if lane not in gone]
        for _ in range(choices.randint(0, 2)):
            new.insert(choices.randint(0, len(new)), None)
        if new != [*range(group.size)]:
            kept[group.id], removed[group.id] = tuple(new), sorted(gone)
    if not kept:
        return None
    plan = Plan(kept, analysis.lanes.increments(removed))
    return model, with_plan(model, analysis.graph, analysis.dimensions, plan)


def share_equal_constants(model: onnx.ModelProto) -> None:
    """Make one constant of those that are equal, as exporters do."""
    first: dict[bytes, str] = {}
    names: dict[str, str] = {}
    kept = []
    for tensor in model.graph.initializer:
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.ClearField("name")
        names[tensor.name] = first.setdefault(copy.SerializeToString(deterministic=True), tensor.name)
        if names[tensor.name] == tensor.name:
            kept.append(tensor)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]


def make_constant_nodes(model: onnx.ModelProto, choices: random.Random) -> None:
    """Turn some initializers into Constant nodes."""
    chosen = [tensor for tensor in model.graph.initializer if choices.random() < 0.5]
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in chosen]
    kept = [tensor for tensor in model.graph.initializer if tensor not in chosen]
    nodes += list(model.graph.node)
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend(nodes)


def sizes(plan: Plan) -> Mapping[int, int]:
    """New size of every class of a plan."""
    return {leaf: len(lanes) for leaf, lanes in plan.kept.items()}
