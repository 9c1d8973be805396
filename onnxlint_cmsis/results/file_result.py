"""Result of linting and fixing one file, from the engine to the reporters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.findings import UNSAFELY, Finding, PythonPlace
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Level

if TYPE_CHECKING:
    from onnxlint_cmsis.results.file_summary import FileSummary
    from onnxlint_cmsis.results.fix_result import FixResult


class FileResult(NamedTuple):
    """One file of a run."""

    path: str
    """The file as the user named it; reporters get it relative to the working directory where it is below it."""
    findings: tuple[Finding, ...]
    """Findings in file order, after selection and suppression; reporters get those that are to be shown."""
    fail_on: Level
    """Lowest level that fails the run for this file."""
    readable: bool = True
    """False where there was no model to analyse."""
    notes: tuple[str, ...] = ()
    """How the file was read, such as `analysed as the int8 model it will become`."""
    statistics: tuple[tuple[str, int], ...] = ()
    """Counts of the analysis, by name: nodes, layers, suppressed findings."""
    error: str = ""
    """Internal error that ended the analysis of the file, in one line."""
    model: bool = True
    """False for a configuration or baseline file that findings are about."""
    fix: FixResult | None = None
    """What came of fixing it; None where no fix was asked for."""
    skipped: tuple[str, ...] = ()
    """Codes of rules that did not run because the model is too large for them."""
    summary: FileSummary | None = None
    """What the model is and needs as a whole; None where it was not analysed."""
    hidden: tuple[Finding, ...] = ()
    """Findings below the level that is shown."""
    names: Mapping[str, str] = {}
    """Short forms of names in the model, for people; only names that have one."""
    places: Mapping[str, PythonPlace] = {}
    """Where in a PyTorch program layers were written, by label."""
    matches: Mapping[str, int] = {}
    """Findings that each suppression of the configuration accepts here, by where it is written."""

    @property
    def told(self) -> tuple[Finding, ...]:
        """All findings, those below the level that is shown too."""
        return (*self.findings, *self.hidden)

    @property
    def fixable(self) -> int:
        """How many of them a fix would answer."""
        return sum(bool(finding.properties.get("fixable")) for finding in self.told)

    @property
    def fixable_unsafely(self) -> int:
        """How many more it would answer with --unsafe-fixes."""
        return sum(bool(finding.properties.get(UNSAFELY)) for finding in self.told)
