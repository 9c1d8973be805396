"""A report as plain data for JSON: operators with their verdicts, memory with its plan."""

from __future__ import annotations

from typing import TypedDict

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.to_graph import tensor_keys
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


class OperatorJson(TypedDict):
    """One operator."""

    subgraph: int
    index: int
    op: str
    functions: list[str]
    chain: list[str]
    verdict: str
    reason: str
    message: str
    stage: str
    scratch: list[int]


class PlannedJson(TypedDict):
    """One planned buffer: a tensor's name, or `scratch of operator 3`."""

    name: str
    bytes: int
    first: int
    last: int
    offset: int


class MemoryJson(TypedDict):
    """Arena of a model, all in bytes; `alive` holds those alive in each step."""

    arena_used: int
    head: int
    tail: int
    arena_needed: int
    persistent: dict[str, int]
    scratch: list[dict[str, int]]
    plan: list[PlannedJson]
    alive: list[int]


def operator_json(row: TflmOperator) -> OperatorJson:
    """One operator's row."""
    return {
        "subgraph": row.subgraph,
        "index": row.index,
        "op": row.op,
        "functions": list(row.functions),
        "chain": list(row.chain),
        "verdict": row.verdict.value,
        "reason": row.reason,
        "message": row.message,
        "stage": row.stage,
        "scratch": list(row.scratch),
    }


def memory_json(model: TfliteModel, arena: ArenaLayout) -> MemoryJson:
    """A model's arena."""
    names = buffer_names(model, arena)
    steps = max((buffer.last for buffer in arena.plan), default=-1) + 1
    return {
        "arena_used": arena.used,
        "head": arena.head,
        "tail": arena.tail,
        "arena_needed": arena.needed,
        "persistent": dict(arena.persistent),
        "scratch": [{"subgraph": number, "op": owner, "bytes": size} for number, owner, size in arena.scratch],
        "plan": [
            {"name": names[b.number], "bytes": b.size, "first": b.first, "last": b.last, "offset": b.offset}
            for b in arena.plan
        ],
        "alive": [sum(buffer.room for buffer in arena.alive(step)) for step in range(steps)],
    }


def buffer_names(model: TfliteModel, arena: ArenaLayout) -> list[str]:
    """Name of every buffer by its number: tensors of all subgraphs, then scratch requests."""
    names = [
        name
        for number, subgraph in enumerate(model.subgraphs)
        for name in tensor_keys(subgraph, f"subgraph{number}" if number else "")
    ]
    return names + [f"scratch of {operator_number(number, owner)}" for number, owner, _ in arena.scratch]


def operator_number(subgraph: int, index: int) -> str:
    """`operator 3`, and `operator 3 of subgraph 1` outside the main one."""
    return f"operator {index} of subgraph {subgraph}" if subgraph else f"operator {index}"
