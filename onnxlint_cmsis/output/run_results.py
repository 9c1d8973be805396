"""What every reporter is given: the files of a run, and how to show them."""

from __future__ import annotations

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple


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
