"""Findings accepted for now: baselines, suppressions, and what a fix may touch."""

from __future__ import annotations

import operator
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.fingerprints import identity
from onnxlint_cmsis.config.selection import adjust, enabled, fixable, resolve
from onnxlint_cmsis.config.settings import Settings, Suppression
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import TEXT, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from onnxlint_cmsis.ground.findings import Finding, Location
    from onnxlint_cmsis.model.graph import Graph, Node


# The baseline: findings accepted for now, by file and fingerprint, in a versioned JSON file.


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
    """Whether the baseline has a finding of a file like this one."""
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
    from onnxlint_cmsis.checks.facts import FileProblem
    from onnxlint_cmsis.checks.rule_registry import check_of_kind
    from onnxlint_cmsis.ground.findings import Location

    return next(check_of_kind(UNUSED_ENTRY).findings(FileProblem(message, Location(baseline.path))))


# Accepted findings: entries of the configuration, and `onnxlint-cmsis:ignore` in the metadata of a model or node.


METADATA_KEY = "onnxlint-cmsis:ignore"
UNUSED_SUPPRESSION = "unused-suppression"
"""Kind of the problem that a suppression matches nothing."""
_NAME = r"[\w-]+(?:\[[\w-]*\])?"
_VALUE = rf"(?s)\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*(.*)"


class Suppressed(NamedTuple):
    """Findings of a file that no suppression matches."""

    findings: tuple[Finding, ...]
    """Findings that are not accepted, then one for each suppression of the model that matches nothing."""
    number: int
    """Findings left out."""
    matches: dict[str, int]
    """By origin the findings that each configuration entry which covers the file matches."""


class _Marked(NamedTuple):
    """A suppression that a model carries."""

    suppression: Suppression
    where: Location


def apply(
    findings: Sequence[Finding], settings: Settings, graph: Graph | None, path: str, skipped: Sequence[str] = ()
) -> Suppressed:
    """Leave out the accepted findings of one file, given its selected findings.

    `graph` is None for a file that could not be read; `skipped` are codes of rules that did not run on it, so their
    suppressions are not called unused. An entry of the configuration may cover many files, so that one is unused can
    only be told at the end of a run, from `matches`.
    """
    configured = [entry for entry in settings.suppress if _covers(entry, settings, path)]
    marked, unknown = _in_model(graph, path) if graph else ([], [])
    entries = [*configured, *(mark.suppression for mark in marked)]
    hits = [0] * len(entries)
    kept: list[Finding] = []
    for finding in findings:
        matching = [i for i, entry in enumerate(entries) if matches(entry, finding)]
        for i in matching:
            hits[i] += 1
        if not matching:
            kept.append(finding)
    idle = [mark for mark, hit in zip(marked, hits[len(configured) :], strict=True) if not hit]
    unused = [_unused(mark) for mark in idle if not concerns(mark.suppression, skipped)]
    reported = (adjust(finding, settings) for finding in [*unknown, *unused])
    matched = {entry.origin: hit for entry, hit in zip(configured, hits, strict=False)}
    return Suppressed((*kept, *(finding for finding in reported if finding)), len(findings) - len(kept), matched)


def matches(entry: Suppression, finding: Finding) -> bool:
    """Tell whether an entry that covers the file accepts the finding."""
    where, resize = finding.location, finding.resize
    tensors = (where.tensor, resize.tensor if resize else where.tensor)
    return (
        finding.selector.startswith(entry.rule)
        and entry.node in ("", where.node)
        and entry.graph in (None, where.graph)
        and (not entry.tensor or entry.tensor in tensors)
    )


def concerns(entry: Suppression, codes_: Sequence[str]) -> bool:
    """Tell whether an entry is about one of the rules."""
    return any(code.startswith(entry.rule) for code in codes_)


def unused_finding(message: str, where: Location) -> Finding:
    """A finding of the rule unused-suppression with the text and place given."""
    from onnxlint_cmsis.checks.facts import FileProblem
    from onnxlint_cmsis.checks.rule_registry import check_of_kind

    return next(check_of_kind(UNUSED_SUPPRESSION).findings(FileProblem(message, where)))


def _covers(entry: Suppression, settings: Settings, path: str) -> bool:
    """True where the entry's pattern matches the file and its rules run on it."""
    from onnxlint_cmsis.checks.rule_registry import every_rule

    return (entry.path is None or entry.path.matches(path)) and any(
        enabled(selector, settings, path)
        for row in every_rule()
        for selector in row.selectors
        if selector.startswith(entry.rule)
    )


def _in_model(graph: Graph, path: str) -> tuple[list[_Marked], list[Finding]]:
    """The suppressions a model carries, and a finding on each that names no rule."""
    marked: list[_Marked] = []
    unknown: list[Finding] = []
    for value, where, node in _values(graph, path):
        names, reason = _parts(value)
        for name in names:
            try:
                rule = resolve(name)
            except ValueError as error:
                unknown.append(unused_finding(f"{METADATA_KEY} of {_carrier(where)}: {error}", where))
                continue
            label, scope = ("", None) if node is None else (node.label, node.graph)
            entry = Suppression(rule, node=label, graph=scope, reason=reason, origin=_carrier(where))
            marked.append(_Marked(entry, where))
    return marked, unknown


def _values(graph: Graph, path: str) -> Iterator[tuple[str, Location, Node | None]]:
    """Every value of the metadata key, with its place and the node that carries it."""
    from onnxlint_cmsis.ground.findings import Location

    if METADATA_KEY in graph.metadata:
        yield graph.metadata[METADATA_KEY], Location(path), None
    for index, metadata in graph.node_metadata.items():
        if METADATA_KEY in metadata:
            node = graph.nodes[index]
            where = Location(path, node.label, node.op_type, "", node.graph, node.offset, node.length)
            yield metadata[METADATA_KEY], where, node


def _parts(value: str) -> tuple[list[str], str]:
    """The rules and the reason in `conv-1x1,overrun reason text`."""
    match = re.fullmatch(_VALUE, value)
    if match is None:
        return [value], ""
    return [name.strip() for name in match[1].split(",")], match[2].strip()


def _carrier(where: Location) -> str:
    return f"{where.op_type} '{where.node}'" if where.node else "the model"


def _unused(mark: _Marked) -> Finding:
    entry = mark.suppression
    reason = f" ({entry.reason})" if entry.reason else ""
    return unused_finding(
        f"{METADATA_KEY} of {entry.origin} names {entry.rule}{reason}, which reports nothing there", mark.where
    )


def suppressed(settings: Settings, path: str, graph: Graph, finding: Finding) -> bool:
    """Whether the configuration or the model accepts a finding, of any rule."""
    return finding not in apply([finding], settings, graph, path).findings


# Findings that a fix of one file may act on: their rules run and are fixable, and no suppression accepts them.


class Consent:
    """What the settings, the model and the baseline say about the findings of one file."""

    def __init__(self, settings: Settings, path: str) -> None:
        self._settings, self._path = settings, path
        self._codes = fixable(settings, path)

    @cached_property
    def _baseline(self) -> Baseline | None:
        """The baseline, read when a finding is first asked about. Raises BaselineError."""
        return read(self._settings.baseline) if self._settings.baseline else None

    def fixable(self, graph: Graph, finding: Finding) -> bool:
        """Whether a fix may act on a finding."""
        return finding.code in self._codes and not self.accepted(graph, finding)

    def accepted(self, graph: Graph, finding: Finding) -> bool:
        """Whether the configuration, the model or the baseline accepts a finding, of any rule."""
        if suppressed(self._settings, self._path, graph, finding):
            return True
        return self._baseline is not None and has(self._baseline, self._path, finding)
