"""Names in text for people: short forms in place of whole paths, and the Python line a layer was exported from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from onnxlint_cmsis.analysis.grouped import brief_text
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.analysis.short_names import QUOTED, WIDEST, cut, distinct_cuts
from onnxlint_cmsis.formats.format import array_in
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.words import and_more, quoted
from onnxlint_cmsis.output.run_results import Run


def with_short_names(text: str, file: FileResult, run: Run) -> str:
    """The text with names in quotes in their short forms."""
    return text if run.full_names else in_short(text, file.names)


def in_short(text: str, names: Mapping[str, str]) -> str:
    """The text with names in quotes in the given short forms; others that are too long stay apart."""
    others = [name for name in re.findall(QUOTED, text) if name not in names]
    forms = {**distinct_cuts(others, WIDEST, names.values()), **names} if others else names
    return re.sub(QUOTED, lambda match: f"'{_short(match[1], forms)}'", text)


def called(name: str, file: FileResult, run: Run) -> str:
    """A name as text shows it."""
    return name if run.full_names else _short(name, file.names)


def _short(name: str, names: Mapping[str, str]) -> str:
    return names.get(name) or cut(name, WIDEST)


def named_array(text: str, file: FileResult) -> str:
    """The text, behind the name of the array where the model is one of a C file."""
    array = array_in(file.path)
    return f"{array.rpartition('.')[0]}: {text}" if array else text


def said(finding: Finding, file: FileResult, run: Run, *, brief: bool = False) -> str:
    """What is the matter, with short names and the Python line of the layer it begins with."""
    text = with_short_names(brief_text(finding) if brief else finding.message, file, run)
    source = file.places.get(finding.location.node)
    name = f"'{called(finding.location.node, file, run)}'"
    return text.replace(name, f"{name} ({source.text})", 1) if source and source.text else text


def listed(names: tuple[str, ...], count: int | None = None) -> str:
    """The first names; `count` is how many there are, of which `names` may be the first alone."""
    return and_more(quoted(names), count=count or 0)
