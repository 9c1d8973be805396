"""The activation arena of an ONNX model as plain data: the plan that the firmware check builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.coverage.device_fit import scratch_of
from onnxlint_cmsis.memory.activations import activations
from onnxlint_cmsis.memory.arena_plan import ALIGNMENT, plan_arena
from onnxlint_cmsis.types import Target

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis

LOWER_BOUND = "lower bound"
OWN_PLAN = "the plan of the firmware check"
UNKNOWN = "a size is unknown"


def onnx_memory(model: ModelAnalysis, target: Target) -> dict[str, object]:
    """Keys as for a `.tflite` file: steps count from 1, 0 is the host before the first; scratch lies beside the arena.

    Instead of an arena `reason` says why there is none.
    """
    uses = activations(model.graph, model.lowered)
    head = {"target": target.label, "status": "ok", "message": ""}
    if uses is None:
        return {**head, "reason": UNKNOWN}
    plan = plan_arena(uses)
    steps = {step.node: number for number, step in enumerate(uses.steps)}
    scratch = [(steps[node], node, size) for node, size in scratch_of(model, target).items() if size and node in steps]
    written = {buffer: model.graph.nodes[step.node].label for step in uses.steps for buffer in step.outputs}
    rooms = {buffer: -(-size // ALIGNMENT) * ALIGNMENT for buffer, size in plan.sizes.items()}
    return {
        **head,
        "basis": LOWER_BOUND if model.settings.runtime.judges else OWN_PLAN,
        "arena_used": plan.size,
        "head": plan.size,
        "tail": 0,
        "arena_needed": plan.size,
        "persistent": {},
        "scratch": [
            {"subgraph": 0, "op": step, "node": model.graph.nodes[node].label, "bytes": size}
            for step, node, size in scratch
        ],
        "plan": [
            {
                "name": uses.names[buffer],
                "node": written.get(buffer, ""),
                "bytes": plan.sizes[buffer],
                "first": plan.lifetimes[buffer][0] + 1,
                "last": min(plan.lifetimes[buffer][1] + 1, len(uses.steps)),
                "offset": offset,
            }
            for buffer, offset in plan.offsets.items()
        ],
        "alive": [
            sum(rooms[buffer] for buffer, life in plan.lifetimes.items() if life[0] + 1 <= step <= life[1] + 1)
            for step in range(len(uses.steps) + 1)
        ],
    }
