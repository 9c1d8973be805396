"""A report as plain data for JSON: operators with their verdicts, memory with its plan."""

from __future__ import annotations

from typing import TypedDict

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, operator_label
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
    """One planned buffer: the name of a tensor, or `scratch of CONV_2D#3`, and the layer that writes it, if any."""

    name: str
    node: str
    bytes: int
    first: int
    last: int
    offset: int


class ScratchJson(TypedDict):
    """What one request of a layer takes."""

    subgraph: int
    op: int
    node: str
    bytes: int


class MemoryJson(TypedDict):
    """Arena of a model, all in bytes; `alive` holds those alive in each step."""

    arena_used: int
    head: int
    tail: int
    arena_needed: int
    persistent: dict[str, int]
    scratch: list[ScratchJson]
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
    names, writers = buffer_names(model, arena), _writers(model, arena)
    steps = max((buffer.last for buffer in arena.plan), default=-1) + 1
    return {
        "arena_used": arena.used,
        "head": arena.head,
        "tail": arena.tail,
        "arena_needed": arena.needed,
        "persistent": dict(arena.persistent),
        "scratch": [
            {"subgraph": number, "op": owner, "node": _label(model, number, owner), "bytes": size}
            for number, owner, size in arena.scratch
        ],
        "plan": [
            {
                "name": names[b.number],
                "node": writers.get(b.number, ""),
                "bytes": b.size,
                "first": b.first,
                "last": b.last,
                "offset": b.offset,
            }
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
    return names + [f"scratch of {_label(model, number, owner)}" for number, owner, _ in arena.scratch]


def _writers(model: TfliteModel, arena: ArenaLayout) -> dict[int, str]:
    """The operator that writes each buffer first, by the buffer's number as for `buffer_names`."""
    found: dict[int, str] = {}
    base = 0
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            for tensor in operator.outputs:
                found.setdefault(base + tensor, _label(model, number, index))
        base += len(subgraph.tensors)
    return found | {base + place: _label(model, *request[:2]) for place, request in enumerate(arena.scratch)}


def _label(model: TfliteModel, subgraph: int, index: int) -> str:
    return operator_label(subgraph, index, model.subgraphs[subgraph].operators[index].title)
