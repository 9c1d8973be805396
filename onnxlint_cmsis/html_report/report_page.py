"""The whole page as records, from one version of a model or two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.html_report.compared_page import compared_page
from onnxlint_cmsis.html_report.finding_blocks import all_findings
from onnxlint_cmsis.html_report.graph_rows import graph_drawing
from onnxlint_cmsis.html_report.layer_lines import kernel_colors
from onnxlint_cmsis.html_report.target_sections import target_sections
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.reporters.called import in_short

if TYPE_CHECKING:
    from onnxlint_cmsis.html_report.compared_records import ComparedPage
    from onnxlint_cmsis.html_report.graph_records import GraphDrawing
    from onnxlint_cmsis.html_report.page_records import FindingBlock, TargetSection
    from onnxlint_cmsis.html_report.report_input import ReportInput


class ReportPage(NamedTuple):
    """The page."""

    title: str
    """Name of the model's file."""
    path: str
    """As the user named it."""
    sections: tuple[TargetSection, ...]
    """The targets."""
    graph: GraphDrawing
    """The layers and their connections."""
    findings: tuple[FindingBlock, ...]
    """Findings, the worst first."""
    notes: tuple[str, ...]
    """What the analysis takes for granted."""
    compared: ComparedPage | None
    """Before and after; None where only one version was given."""


def report_page(given: ReportInput, against: ReportInput | None = None) -> ReportPage:
    """The page of a model; `against` is the version before."""
    colors = kernel_colors([given] if against is None else [given, against])
    sections = target_sections(given, colors)
    compared = None
    if against is not None:
        compared = compared_page(against, given, target_sections(against, colors), sections)
    result = given.version.result
    return ReportPage(
        Path(given.model.path).name,
        given.version.name,
        sections,
        graph_drawing(given.model, given.names, result.summary),
        all_findings(result.told, given.names),
        tuple(in_short(note, given.names) for note in result.notes),
        compared,
    )
