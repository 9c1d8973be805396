"""The baseline: findings accepted for now, by file and fingerprint, in a versioned JSON file."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fingerprints import identity
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import TEXT, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onnxlint_cmsis.ground.findings import Finding


VERSION = 1


UNUSED_ENTRY = "unused-baseline-entry"
"""Kind of the problem that an entry matches no finding."""


class BaselineError(UsageError):
    """A baseline file that cannot be used; the text names the file and what is wrong."""


class Entry(NamedTuple):
    """Findings of one file that share an identity."""

    findings: int
    """How many there were."""
    rule: str
    """Code with its cause, for people and for messages."""
    node: str
    """Node, for people and for messages."""


class Baseline(NamedTuple):
    """A baseline file."""

    path: str
    """The file; the paths inside are relative to its folder."""
    files: dict[str, dict[str, Entry]]
    """Model file to identity to entry."""


class Told(NamedTuple):
    """What linting said of one file."""

    file: str
    """Path of the file."""
    findings: Sequence[Finding]
    """All findings on the file."""
    ran: Callable[[str], bool]
    """Whether a rule ran on it, by code or by code with a cause."""


def read(path: str) -> Baseline:
    """Read a baseline file; BaselineError where it is missing or is not one."""
    import json

    try:
        data = json.loads(read_regular(path, TEXT).decode("utf-8-sig"))
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: the baseline is not valid JSON: {error}") from error
    version = data.get("version") if isinstance(data, dict) else None
    if version != VERSION:
        raise BaselineError(f"{path}: version {version!r} of the baseline is not {VERSION}; write it again")
    try:
        files = {name: {key: _entry(**row) for key, row in rows.items()} for name, rows in data["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"{path}: the baseline is not as --write-baseline writes it") from error
    return Baseline(path, files)


def _entry(findings: int, rule: str, node: str) -> Entry:
    """An entry from the file's JSON; TypeError where it has another form."""
    return Entry(operator.index(findings), rule, node)


def write(path: str, findings: Iterable[tuple[str, Sequence[Finding]]]) -> int:
    """Write the findings of each (file, findings) as the new baseline; the number of findings in it."""
    import json

    from onnxlint_cmsis.ground.atomic_write import write_text

    files = {key_of(path, file): _entries(findings_of_file) for file, findings_of_file in findings if findings_of_file}
    rows = {file: {key: entry._asdict() for key, entry in files[file].items()} for file in sorted(files)}
    write_text(path, json.dumps({"version": VERSION, "files": rows}, indent=1) + "\n")
    return sum(entry.findings for entries in files.values() for entry in entries.values())


def key_of(baseline: str, file: str) -> str:
    """A model file as the baseline names it: relative to the baseline's folder, with forward slashes."""
    try:
        return Path(os.path.relpath(file, Path(baseline).absolute().parent)).as_posix()
    except ValueError:  # another drive on Windows
        return Path(file).absolute().as_posix()


def remaining(baseline: Baseline, file: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of a file beyond those in the baseline."""
    left = {key: entry.findings for key, entry in baseline.files.get(key_of(baseline.path, file), {}).items()}
    kept = []
    for finding in findings:
        key = identity(finding)
        left[key] = left.get(key, 0) - 1
        if left[key] < 0:
            kept.append(finding)
    return tuple(kept)


def has(baseline: Baseline, file: str, finding: Finding) -> bool:
    """Tell whether the baseline has a finding of a file like this one."""
    return identity(finding) in baseline.files.get(key_of(baseline.path, file), {})


def unused(baseline: Baseline, linted: Iterable[Told]) -> tuple[Finding, ...]:
    """A finding for each entry with fewer findings than it counts, in the files linted and those that are gone."""
    reported = {key_of(baseline.path, told.file): (_entries(told.findings), told.ran) for told in linted}
    folder = Path(baseline.path).absolute().parent
    result: list[Finding] = []
    for file, entries in baseline.files.items():
        if file in reported:
            there, ran = reported[file]
            for key, entry in entries.items():
                now = there[key].findings if key in there else 0
                if now < entry.findings and ran(entry.rule):
                    where = f" at '{entry.node}'" if entry.node else ""
                    counted = f"the baseline has {entry.findings} {entry.rule}{where}"
                    there_now = "there is 1 now" if now == 1 else f"there are {now} now"
                    result.append(_finding(baseline, f"{file}: {counted}, {there_now}"))
        elif not (folder / file_of(file)).exists():
            result.append(_finding(baseline, f"{file}: the file does not exist any more"))
    return tuple(result)


def _entries(findings: Sequence[Finding]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for finding in findings:
        key = identity(finding)
        before = entries[key].findings if key in entries else 0
        entries[key] = Entry(before + 1, finding.selector, finding.location.node)
    return entries


def _finding(baseline: Baseline, message: str) -> Finding:
    from onnxlint_cmsis.checks.file_problem import FileProblem
    from onnxlint_cmsis.checks.rule_registry import check_of_kind
    from onnxlint_cmsis.ground.findings import Location

    return next(check_of_kind(UNUSED_ENTRY).findings(FileProblem(message, Location(baseline.path))))
