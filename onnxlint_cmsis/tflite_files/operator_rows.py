"""What `onnxlint-cmsis layers` shows of a `.tflite` file: every operator with the functions that compute it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.report_json import operator_json
from onnxlint_cmsis.runtimes.tflm.tflm_lowering import nodes_of

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
    from onnxlint_cmsis.tflite_analysis import TfliteAnalysis
    from onnxlint_cmsis.types import Target


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
