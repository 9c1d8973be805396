"""What every reporter is given: the files of a run, and how to show them."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.grouped import brief_text
from onnxlint_cmsis.analysis.short_names import QUOTED, WIDEST, cut, distinct_cuts
from onnxlint_cmsis.formats.format import array_in, part
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.ground.findings import Finding, Resize
    from onnxlint_cmsis.ground.types import Source


class Run(NamedTuple):
    """One run of the linter."""

    files: tuple[FileResult, ...]
    """Every file, in the order of the command line."""
    targets: tuple[str, ...]
    """Labels of all targets."""
    exit_code: int
    """What the process will return."""
    folder: str
    """Absolute working directory."""
    hidden: tuple[Finding, ...] = ()
    """Findings not shown because of their level."""
    color: bool = False
    """Colour the text."""
    quiet: bool = False
    """Only the findings."""
    statistics: bool = False
    """Add the counts per rule and level."""
    category: str = ""
    """SARIF category of the run."""
    linted: bool = True
    """False where files were only fixed, or only looked at for what a fix would do."""
    width: int = 0
    """Columns of the terminal; 0 for lines of any length."""
    full_names: bool = False
    """Show names as they stand in the file."""
    explain: bool = False
    """Tell source, reason and evidence of findings."""
    diff: bool = False
    """Tell all details of fixes that were only worked out."""
    verbose: bool = False
    """Tell how files were read, and the sums behind the verdicts."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings shown, file by file."""
        return tuple(finding for file in self.files for finding in file.findings)


def by_code(findings: tuple[Finding, ...]) -> list[tuple[str, str, int]]:
    """(code, name, number) of every rule with findings, most first."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = (finding.code, finding.name)
        counts[key] = counts.get(key, 0) + 1
    return sorted(((code, name, n) for (code, name), n in counts.items()), key=lambda row: (-row[2], row[0]))


def by_level(findings: tuple[Finding, ...]) -> list[tuple[str, int]]:
    """(level, number) for error, warning and note, in this order."""
    from onnxlint_cmsis.ground.types import Level

    return [(level.name.lower(), sum(f.level is level for f in findings)) for level in sorted(Level, reverse=True)]


# Findings as plain data for JSON and SARIF.


def finding_fields(finding: Finding) -> dict[str, object]:
    """Every field of a finding except its place, ready for JSON."""
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level.name.lower(),
        "effect": finding.effect.value,
        "message": finding.text,
        "remedy": finding.remedy,
        "cause": finding.cause,
        "targets": list(finding.targets),
        "taken": finding.taken,
        "wanted": finding.wanted,
        "resize": resize_fields(finding.resize) if finding.resize else None,
        "sources": [source_fields(source) for source in finding.sources],
        "properties": {name: finite(value) for name, value in finding.properties.items()},
    }


def location_fields(finding: Finding, path: str) -> dict[str, object]:
    """Where a finding is; unknown bytes are None."""
    where = finding.location
    return {
        "path": path,
        "graph": where.graph,
        "node": where.node,
        "op_type": where.op_type,
        "tensor": where.tensor,
        "offset": where.offset if where.offset >= 0 else None,
        "length": where.length if where.length >= 0 else None,
    }


def resize_fields(resize: Resize) -> dict[str, object]:
    """A channel count within reach."""
    return {
        "variable": resize.variable,
        "tensor": resize.tensor,
        "axis": resize.axis,
        "have": resize.have,
        "want": resize.want,
        "freedom": resize.freedom.value,
        "layers": list(resize.layers),
        "lock": resize.lock,
    }


def source_fields(source: Source) -> dict[str, object]:
    """A place in CMSIS-NN's source."""
    return {"release": source.release, "file": source.file, "function": source.function, "line": source.line}


def finite(value: str | int | float | bool) -> str | int | float | bool:
    """The value, or the name of a float that JSON has no number for."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


# Where the project can be found; written once.


HOME = "https://github.com/onnxlint-cmsis/onnxlint-cmsis"
"""Page about the tool."""

DOCUMENTATION = f"{HOME}/blob/main/docs"
"""Where the pages of docs/ can be read."""


def rule_page(code: str) -> str:
    """Address of a rule's page."""
    return f"{DOCUMENTATION}/rules/{code}.md"


# Paths as other programs want them.


def posix(path: str) -> str:
    """The path with forward slashes."""
    return path.replace(os.sep, "/")


def shown(path: str, folder: str) -> str:
    """The path relative to the folder where it is below it, otherwise as it is."""
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # another drive on Windows
        return path
    return path if relative == os.pardir or relative.startswith(os.pardir + os.sep) else relative


def below(path: str, folder: str) -> str:
    """Percent-encoded URI reference of a path below the folder, without `./` and `..`; empty where it is not below."""
    absolute = os.path.normpath(Path(folder, path))
    relative = shown(absolute, folder)
    return "" if relative == absolute else quoted(relative)


def root(folder: str) -> str:
    """URI of the root of the file system that a folder is in, on Windows that of its drive."""
    return Path(Path(folder).anchor).as_uri()


def below_root(path: str, folder: str) -> str:
    """Percent-encoded URI reference of a path (or one in folder) from `root`; empty on another drive."""
    drive, rest = os.path.splitdrive(os.path.normpath(Path(folder, path)))
    return quoted(rest).lstrip("/") if drive.lower() == os.path.splitdrive(folder)[0].lower() else ""


def quoted(path: str) -> str:
    """The path percent-encoded, byte by byte as the file system has it."""
    from urllib.parse import quote

    return quote(os.fsencode(posix(path)))


# Names in text for people: short forms in place of whole paths, and the Python line a layer was exported from.


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


# The counts that --statistics asks for.


def statistics_lines(run: Run) -> list[str]:
    """One line for each rule with findings, most first, then one for each level."""
    rows = [(str(number), code, name) for code, name, number in by_code(run.findings)]
    rows += [(str(number), level, "") for level, number in by_level(run.findings)]
    width = max(len(row[0]) for row in rows)
    return [f"{number:>{width}}  {first:<7}  {second}".rstrip() for number, first, second in rows]


# From the result of a run to text: a function for each output format, imported when it is used.


RENDERERS = {
    "full": "output.full:render",
    "concise": "output.concise:render",
    "json": "output.json_report:render",
    "sarif": "output.sarif:render",
    "github": "output.github:render",
    "junit": "output.junit:render",
    "gitlab": "output.gitlab:render",
    "rdjson": "output.reviewdog:render",
}
"""Function of each output format."""


def render(output_format: str, run: Run) -> str:
    """The whole report of a run in one of the formats of RENDERERS."""
    text: str = part(RENDERERS[output_format])(run)
    return text
