"""The arena of a model on one target, as `memory` tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from onnxlint_cmsis.analysis.arena_plan import ALIGNMENT, ArenaUses, plan_arena
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.runtimes.memory_report import Arena, BufferLife, LayerScratch


def arena_of(uses: ArenaUses, graph: Graph, scratch: Mapping[int, int], basis: str) -> Arena:
    """The plan of an ONNX model; `scratch` has bytes by index of the layer's node."""
    plan = plan_arena(uses)
    steps = {step.node: number for number, step in enumerate(uses.steps)}
    written = {buffer: graph.nodes[step.node].label for step in uses.steps for buffer in step.outputs}
    rooms = {buffer: -(-size // ALIGNMENT) * ALIGNMENT for buffer, size in plan.sizes.items()}
    lives = {buffer: (first + 1, last + 1) for buffer, (first, last) in plan.lifetimes.items()}
    changes = Counter[int]()
    for buffer, (first, last) in lives.items():
        changes[first] += rooms[buffer]
        changes[last + 1] -= rooms[buffer]
    return Arena(
        plan.size,
        0,
        plan.size,
        plan.size,
        {},
        tuple(
            LayerScratch(0, steps[node], graph.nodes[node].label, size)
            for node, size in scratch.items()
            if size and node in steps
        ),
        tuple(
            BufferLife(
                uses.names[buffer],
                written.get(buffer, ""),
                plan.sizes[buffer],
                lives[buffer][0],
                min(lives[buffer][1], len(uses.steps)),
                offset,
            )
            for buffer, offset in plan.offsets.items()
        ),
        tuple(accumulate(changes[step] for step in range(len(uses.steps) + 1))),
        tuple(step.label for step in uses.steps),
        basis,
    )
