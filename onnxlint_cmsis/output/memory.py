"""The arena of a model on every target, as data and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.plain import counted
from onnxlint_cmsis.runtimes.tflm.interpret import nodes_of, operator_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.tflite_analysis import TfliteAnalysis
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.runtimes.tflm.interpret import MemoryJson
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


# The arena of a model on every target, as plain data.


def memory_reports(model: ModelAnalysis) -> list[dict[str, object]]:
    """One report per target, in order; of a `.tflite` file for builds with checks."""
    if is_tflite_path(model.path):
        return [_of_tflite(cast("TfliteAnalysis", model), target) for target in model.settings.targets]
    from onnxlint_cmsis.analysis.coverage import onnx_memory

    return [onnx_memory(model, target) for target in model.settings.targets]


def _of_tflite(model: TfliteAnalysis, target: Target) -> dict[str, object]:
    """Status and message of the model, and its arena or why there is none."""
    from onnxlint_cmsis.runtimes.tflm.interpret import memory_json

    found, stop = model.report(target), model.stop(target)
    head = {"target": target.label, "status": found.status, "message": found.message}
    if found.arena is None or stop:
        reasons = (found.no_arena or "it does not run", stop or found.stop)
        return {**head, "reason": ": ".join(filter(None, reasons))}
    return {**head, **memory_json(model.file, found.arena)}


# The arena of a model as tables of text.


PLAN = ("buffer", "layer", "bytes", "first", "last", "offset")
"""Columns of the plan: the layer writes the buffer, which lives from its first step to its last."""


def memory_lines(memory: MemoryJson, target: str, names: Mapping[str, str]) -> list[str]:
    """Sums and parts of an arena, without the plan; `names` are short forms."""
    more = memory["arena_needed"] - memory["arena_used"]
    needed = f" ({counted(more, 'byte')} more while it plans)" if more else ""
    parts = ", ".join(f"{name} {size:,}" for name, size in memory["persistent"].items())
    scratch = ", ".join(f"{names.get(row['node'], row['node'])}: {row['bytes']:,}" for row in memory["scratch"])
    alive = memory["alive"] or [0]
    peak = alive.index(max(alive))
    least = f"arena at least {memory['arena_used']:,} bytes"
    whole = (
        f"arena_used {memory['arena_used']:,} bytes = head {memory['head']:,} + tail {memory['tail']:,}; "
        f"arena_needed {memory['arena_needed']:,}{needed}"
    )
    return [
        f"{target}: {whole if parts else least}",
        *([f"  tail: {parts}"] if parts else []),
        f"  scratch: {scratch or 'none'}",
        f"  most alive in step {peak}: {alive[peak]:,} bytes",
    ]


def plan_cells(memory: MemoryJson, names: Mapping[str, str]) -> list[list[str]]:
    """The plan's rows in order of offset; `names` are short forms."""
    ordered = sorted(memory["plan"], key=lambda row: (row["offset"], row["first"]))
    return [
        [
            *(names.get(name, name) for name in (row["name"], row["node"])),
            *(f"{number:,}" for number in (row["bytes"], row["first"], row["last"], row["offset"])),
        ]
        for row in ordered
    ]


# What `onnxlint-cmsis layers` shows of a `.tflite` file: every operator with the functions that compute it.


class OperatorRow(NamedTuple):
    """One operator on one target."""

    row: dict[str, object]
    """What the runtime makes of it."""
    node: Node | None
    """Its node; None in subgraphs that the main one never runs."""
    target: Target
    """The target."""


def operator_rows(model: TfliteAnalysis) -> Iterator[OperatorRow]:
    """One row per operator and target, in file order, for a build with checks."""
    nodes = nodes_of(model.file, model.graph)
    reports = [model.report(target).operators for target in model.settings.targets]
    for place, node in enumerate(nodes):
        for target, rows in zip(model.settings.targets, reports, strict=True):
            row = _row(model, rows[place], node, target)
            row["node"] = rows[place].label
            yield OperatorRow({**row, **_dims(model, node)}, node, target)


def _dims(model: TfliteAnalysis, node: Node | None) -> dict[str, object]:
    """Sizes of what an operator reads first and writes first, as the file states them."""
    names = [(tensors or ("",))[0] for tensors in ((node.inputs, node.outputs) if node else ((), ()))]
    source, result = (list(model.graph.shape(name) or ()) if name else [] for name in names)
    return {"input_dims": source, "output_dims": result}


def _row(model: TfliteAnalysis, row: TflmOperator, node: Node | None, target: Target) -> dict[str, object]:
    subgraph = model.file.subgraphs[row.subgraph]
    outputs = subgraph.operators[row.index].outputs
    own = f"subgraph{row.subgraph}/{subgraph.tensors[outputs[0]].name}" if outputs else ""
    name = next(iter(node.outputs), "") if node else own
    kernel = row.chain[-1] if row.chain else ""
    return {**operator_json(row), "output": name, "target": target.label, "kernel": kernel}
