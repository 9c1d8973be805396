"""What `onnxlint-cmsis layers` shows of a `.tflite` file: every operator with the functions that compute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.tflite.read_file import read_tflite
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.report_json import operator_json
from onnxlint_cmsis.runtimes.tflm.tflm_build import build_for

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
    from onnxlint_cmsis.types import Target

COLUMNS = ("index", "op", "output", "target", "verdict", "functions", "kernel", "scratch", "reason")
"""Columns of the text table."""


def operator_rows(path: str, settings: Settings, data: bytes | None = None) -> list[dict[str, object]]:
    """One row per operator and target, in file order, for a build with checks. Raises ModelError."""
    model = read_tflite(path, data)
    found = []
    for target in settings.targets:
        rows = interpret(model, build_for(settings.runtime, target, settings.cmsis_nn_build)).operators
        found += [_row(model, row, target) for row in rows]
    return sorted(found, key=lambda row: (row["subgraph"], row["index"]))


def _row(model: TfliteModel, row: TflmOperator, target: Target) -> dict[str, object]:
    subgraph = model.subgraphs[row.subgraph]
    outputs = subgraph.operators[row.index].outputs
    name = subgraph.tensors[outputs[0]].name if outputs else ""
    kernel = row.chain[-1] if row.chain else ""
    return {**operator_json(row), "output": name, "target": target.label, "kernel": kernel}
