"""The arena of a model on every target, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.formats.suffixes import is_tflite_path

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.tflite_analysis import TfliteAnalysis
    from onnxlint_cmsis.types import Target


def memory_reports(model: ModelAnalysis) -> list[dict[str, object]]:
    """One report per target, in order; of a `.tflite` file for builds with checks."""
    if is_tflite_path(model.path):
        return [_of_tflite(cast("TfliteAnalysis", model), target) for target in model.settings.targets]
    from onnxlint_cmsis.coverage.onnx_memory import onnx_memory

    return [onnx_memory(model, target) for target in model.settings.targets]


def _of_tflite(model: TfliteAnalysis, target: Target) -> dict[str, object]:
    """Status and message of the model, and its arena or why there is none."""
    from onnxlint_cmsis.runtimes.tflm.report_json import memory_json

    found, stop = model.report(target), model.stop(target)
    head = {"target": target.label, "status": found.status, "message": found.message}
    if found.arena is None or stop:
        reasons = (found.no_arena or "it does not run", stop or found.stop)
        return {**head, "reason": ": ".join(filter(None, reasons))}
    return {**head, **memory_json(model.file, found.arena)}
