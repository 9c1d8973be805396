"""Whether a `.tflite` file fits a device, as findings and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.run_checks import fit_findings, merged
from onnxlint_cmsis.memory.needs import fit_note
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.tflite_analysis import TfliteAnalysis
from onnxlint_cmsis.tflite_files.device_need import flash_need, ram_need

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.findings import Finding


class TfliteFit(NamedTuple):
    """What comparing a file with a device brings."""

    findings: tuple[Finding, ...]
    """What does not fit."""
    notes: tuple[str, ...]
    """What it needs, for each target, or why that is not known."""


def tflite_fit(model: ModelAnalysis) -> TfliteFit:
    """The file against the RAM and flash of each target that has any."""
    if not isinstance(model, TfliteAnalysis):
        raise TypeError(f"{model.path} is no .tflite file")
    file, settings, places = model.file, model.settings, model.places
    found: list[Finding] = []
    notes: dict[str, None] = {}
    for target, room in zip(settings.targets, settings.rooms, strict=False):
        if room.ram is None and room.flash is None:
            continue
        report, stop = model.report(target), model.stop(target)
        ram = None if report.arena is None or stop else ram_need(file, report.arena, target, room, places)
        flash = flash_need(file, target, room, places)
        found += fit_findings(ram, flash)
        notes[fit_note(ram, flash)] = None
        if ram is None and room.ram:
            notes[f"{target.label}: whether the model fits RAM is not known: {stop or report.no_arena}."] = None
    return TfliteFit(tuple(merged(found)), tuple(filter(None, notes)))
