"""The arena of a `.tflite` file on every target, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.tflite.read_file import read_tflite
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.report_json import memory_json
from onnxlint_cmsis.runtimes.tflm.tflm_build import build_for

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild


def memory_reports(path: str, settings: Settings, data: bytes | None = None) -> list[dict[str, object]]:
    """One report per target, in order, for builds with checks. Raises ModelError."""
    model = read_tflite(path, data)
    builds = [build_for(settings.runtime, target, settings.cmsis_nn_build) for target in settings.targets]
    return [_report(model, build) for build in builds]


def _report(model: TfliteModel, build: TflmBuild) -> dict[str, object]:
    """Status and message of the model, and its arena or why there is none."""
    found = interpret(model, build)
    stop = interpret(model, build._replace(checks=False)).stop
    head = {"target": build.target.label, "status": found.status, "message": found.message}
    if found.arena is None or stop:
        reasons = (found.no_arena or "it does not run", stop or found.stop)
        return {**head, "reason": ": ".join(filter(None, reasons))}
    return {**head, **memory_json(model, found.arena)}
