"""Names in text for people: short forms in place of whole paths, and the Python line a layer was exported from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.results.grouped_findings import brief_text
from onnxlint_cmsis.results.short_names import QUOTED, WIDEST, cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.reporters.report_run import Run
    from onnxlint_cmsis.results.file_result import FileResult


def with_short_names(text: str, file: FileResult, run: Run) -> str:
    """The text with names in quotes in their short forms."""
    return text if run.full_names else in_short(text, file.names)


def in_short(text: str, names: Mapping[str, str]) -> str:
    """The text with names in quotes in the given short forms."""
    return QUOTED.sub(lambda found: f"'{_short(found[1], names)}'", text)


def called(name: str, file: FileResult, run: Run) -> str:
    """A name as text shows it."""
    return name if run.full_names else _short(name, file.names)


def _short(name: str, names: Mapping[str, str]) -> str:
    return names.get(name) or cut(name, WIDEST)


def said(finding: Finding, file: FileResult, run: Run, *, brief: bool = False) -> str:
    """What is the matter, with short names and the Python line of the layer it begins with."""
    text = with_short_names(brief_text(finding) if brief else finding.message, file, run)
    place = file.places.get(finding.location.node)
    name = f"'{called(finding.location.node, file, run)}'"
    return text.replace(name, f"{name} ({place.text})", 1) if place and place.text else text
