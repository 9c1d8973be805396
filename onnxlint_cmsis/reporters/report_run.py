"""What every reporter is given: the files of a run with what is to be shown of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.results.fix_result import FixResult
    from onnxlint_cmsis.types import Finding, Level


class FileResult(NamedTuple):
    """One file of a run."""

    path: str
    """The file, relative to the working directory where it is below it."""
    findings: tuple[Finding, ...]
    """What is to be shown."""
    fail_on: Level
    """Lowest level that fails the run for this file."""
    readable: bool = True
    """False where there was no model to analyse."""
    notes: tuple[str, ...] = ()
    """How the file was read, such as `analysed as the int8 model it will become`."""
    statistics: tuple[tuple[str, int], ...] = ()
    """Counts of the analysis, by name."""
    error: str = ""
    """Internal error that ended the analysis of the file."""
    model: bool = True
    """False for a configuration or baseline file that findings are about."""
    fix: FixResult | None = None
    """What came of fixing it; None where no fix was asked for."""


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
    hidden: int = 0
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
    diff: bool = False
    """Tell all details of fixes that were only worked out."""

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
    from onnxlint_cmsis.types import Level

    return [(level.name.lower(), sum(f.level is level for f in findings)) for level in sorted(Level, reverse=True)]
