"""From what the engine said to what a run reports: baseline, unused entries, hidden levels, exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.cli.jobs import Linted
from onnxlint_cmsis.config.selection import adjust
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.shown_paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.findings import Finding


class RunOutcome(NamedTuple):
    """What a run reports."""

    files: tuple[FileResult, ...]
    """Models, then configuration and baseline files that findings are about."""
    hidden: tuple[Finding, ...]
    """Findings below the level that is shown."""
    exit_code: int
    """0 clean, 1 findings, 2 something could not be linted."""


def conclude(linted: list[Linted], output_format: str) -> RunOutcome:
    """Lay the baselines over the results, add what is unused, join equal causes, hide what is not to be shown."""
    new, about_baselines = _beyond_baseline(linted)
    folder = str(Path.cwd())
    models = [
        (_accepting(lint.file._replace(path=shown(lint.job.path, folder)), findings), lint.job.settings)
        for lint, findings in zip(linted, new, strict=True)
    ]
    every = [*models, *_grouped([*_unused_suppressions(linted), *about_baselines])]
    joined = [(result._replace(findings=grouped(result.findings)), settings) for result, settings in every]
    files = tuple(_visible(result, settings, output_format) for result, settings in joined)
    hidden = tuple(finding for file in files for finding in file.hidden)
    return RunOutcome(files, hidden, exit_code(files))


def _accepting(result: FileResult, new: tuple[Finding, ...]) -> FileResult:
    """The result with the findings that its baseline does not have; its verdicts say how many are accepted."""
    accepted = dict(result.statistics).get("suppressed", 0) + len(result.findings) - len(new)
    said = tuple(verdict._replace(accepted=accepted) for verdict in result.verdicts)
    return result._replace(findings=new, verdicts=said)


def exit_code(results: Iterable[FileResult]) -> int:
    """2 where a file could not be linted or fixed, else 1 where a finding is at or above its file's level, else 0."""
    code = 0
    for result in results:
        if result.error or not result.readable or (result.fix and result.fix.failed):
            return 2
        if any(finding.level >= result.fail_on for finding in result.told):
            code = 1
    return code


def _visible(result: FileResult, settings: Settings, output_format: str) -> FileResult:
    """The result with the findings apart that the format does not show."""
    shown = tuple(finding for finding in result.findings if settings.shows(finding, output_format))
    return result._replace(findings=shown, hidden=tuple(finding for finding in result.findings if finding not in shown))


def _beyond_baseline(linted: list[Linted]) -> tuple[list[tuple[Finding, ...]], list[tuple[Finding, Settings]]]:
    """The findings of each file that its baseline does not have, and those about the baselines themselves."""
    told = [lint for lint in linted if lint.job.settings.baseline and not lint.only_fixed]
    used = {lint.job.settings.baseline: lint.job.settings for lint in told}
    if not used:
        return [lint.file.findings for lint in linted], []
    from onnxlint_cmsis.config import baseline

    read = {path: baseline.read(path) for path in used}
    new = []
    for lint in linted:
        entries = read.get(lint.job.settings.baseline) if lint.file.readable else None
        new.append(baseline.remaining(entries, lint.job.path, lint.file.findings) if entries else lint.file.findings)
    about = []
    for path, settings in used.items():
        mine = [lint for lint in told if lint.job.settings.baseline == path]
        sound = [lint for lint in mine if lint.file.readable and not lint.file.error]
        finished = [baseline.Told(lint.job.path, lint.file.findings, lint.ran) for lint in sound]
        about += [(finding, settings) for finding in baseline.unused(read[path], finished)]
    return new, about


def _unused_suppressions(linted: list[Linted]) -> list[tuple[Finding, Settings]]:
    """A finding on each configuration entry that matches nothing in the files it covers, all of which were analysed."""
    from onnxlint_cmsis.config.accepted import concerns

    hits: dict[str, int] = {}
    files: dict[str, int] = {}
    entries = {entry.origin: (entry, lint.job.settings) for lint in linted for entry in lint.job.settings.suppress}
    unknown = {
        entry.origin
        for lint in linted
        for entry in lint.job.settings.suppress
        if (lint.file.error or not lint.file.readable or concerns(entry, lint.file.skipped))
        and (entry.path is None or entry.path.matches(lint.job.path))
    }
    for lint in linted:
        for origin in entries.keys() & lint.file.matches.keys():
            hits[origin] = hits.get(origin, 0) + lint.file.matches[origin]
            files[origin] = files.get(origin, 0) + 1
    return [
        (_unused(origin, files[origin], entry.rule, settings), settings)
        for origin, (entry, settings) in entries.items()
        if hits.get(origin) == 0 and origin not in unknown
    ]


def _unused(origin: str, files: int, rule: str, settings: Settings) -> Finding:
    from onnxlint_cmsis.config.accepted import unused_finding
    from onnxlint_cmsis.ground.findings import Location
    from onnxlint_cmsis.output.foreign_text import counted

    entry = origin.rpartition(": ")[2]
    message = f"{entry} of {rule} matches no finding in the {counted(files, 'file')} it covers in this run"
    return unused_finding(message, Location(settings.file))


def _grouped(findings: list[tuple[Finding, Settings]]) -> list[tuple[FileResult, Settings]]:
    """Findings about configuration and baseline files, file by file, as far as their rules are selected."""
    groups: dict[str, tuple[Settings, list[Finding]]] = {}
    for finding, settings in findings:
        adjusted = adjust(finding, settings)
        if adjusted:
            groups.setdefault(finding.location.path, (settings, []))[1].append(adjusted)
    folder = str(Path.cwd())
    return [
        (FileResult(shown(path, folder), tuple(findings), settings.fail_on, model=False), settings)
        for path, (settings, findings) in groups.items()
    ]
