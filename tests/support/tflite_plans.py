"""Plans for `.tflite` files: channels that do nothing go, channels of zeros come."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.lanes import analyse_lanes
from onnxlint_cmsis.analysis.proof_results import Proof
from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
from onnxlint_cmsis.fixers.proof.element_map import element_map
from onnxlint_cmsis.fixers.proof.models import proven_model
from onnxlint_cmsis.fixers.proof.prove import Prover
from onnxlint_cmsis.formats.format import TFLITE, part
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.graph import Graph

FILE = "m.tflite"


class Case(NamedTuple):
    """A file and a plan for it."""

    data: bytes
    graph: Graph
    dimensions: Dimensions
    plan: Plan

    @property
    def new(self) -> bytes:
        data: bytes = part(TFLITE.editor).resized(self.data, self.graph, self.dimensions, self.plan)
        return data

    def proof(self) -> Proof:
        pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
        same = element_map(self.graph, [PlanStep(self.graph, self.dimensions, self.plan)])
        return Prover(lambda: proven_model(self.data, Path(FILE)), Path(FILE), {}).prove(self.new, same=same).proof


def case(data: bytes, more: dict[int, int] | None = None) -> Case:
    """A plan that takes out every channel that may go, and adds so many of zeros to classes."""
    loaded = load_tflite(FILE, data=data)
    graph = loaded.graph
    dimensions = analyse(graph)
    lanes = analyse_lanes(graph, dimensions, loaded.reader())
    gone = {leaf: leaf_lanes.exact for leaf, leaf_lanes in lanes.classes.items() if leaf_lanes.exact}
    kept: dict[int, tuple[int | None, ...]] = {}
    for group in dimensions.classes:
        added = (more or {}).get(group.id, 0)
        if group.freedom is not Freedom.LOCKED and (added or group.id in gone):
            stay = [lane for lane in range(group.size) if lane not in gone.get(group.id, ())]
            kept[group.id] = (*stay, *[None] * added)
    return Case(data, graph, dimensions, Plan(kept, lanes.increments(gone), lanes.read))
