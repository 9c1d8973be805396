"""Whether a `.tflite` file fits a device, as findings and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.run_checks import fit_findings, merged
from onnxlint_cmsis.memory.needs import fit_note
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.tflite_files.device_need import flash_need, ram_need

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import AnalysisSettings
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport
    from onnxlint_cmsis.types import Finding, Location


class TfliteFit(NamedTuple):
    """What comparing a file with a device brings."""

    findings: tuple[Finding, ...]
    """What does not fit."""
    notes: tuple[str, ...]
    """What it needs, for each target, or why that is not known."""


def tflite_fit(
    model: TfliteModel, settings: AnalysisSettings, reports: list[TflmReport], places: list[Location]
) -> TfliteFit:
    """The file against the RAM and flash of each target that has any; `reports` are in the order of the targets."""
    found: list[Finding] = []
    notes: dict[str, None] = {}
    for target, room, report in zip(settings.targets, settings.rooms, reports, strict=False):
        if room.ram is None and room.flash is None:
            continue
        ram = None if report.arena is None else ram_need(model, report.arena, target, room, places)
        flash = flash_need(model, target, room, places)
        found += fit_findings(ram, flash)
        notes[fit_note(ram, flash)] = None
        if ram is None and room.ram:
            notes[f"{target.label}: whether the model fits RAM is not known: {report.no_arena}."] = None
    return TfliteFit(tuple(merged(found)), tuple(filter(None, notes)))
