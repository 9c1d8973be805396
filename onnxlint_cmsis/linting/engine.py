"""One file from bytes to findings: read, lower, route on every target, check, select, suppress."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.config import accepted
from onnxlint_cmsis.config.settings import adjust, enabled
from onnxlint_cmsis.ground.findings import Finding, Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.model.graph import ModelError
from onnxlint_cmsis.planning.size_search import (
    NO_SIZES,
    can_fix,
    size_codes,
    size_findings,
    skip_notes,
    too_large_for_sizes,
)

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.checks.facts import ClassFact, FileProblem
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.model.graph import Graph


def lint_file(
    path: str, settings: Settings, data: bytes | None = None, model: ModelAnalysis | None = None
) -> FileResult:
    """Lint one file (or `data`, read from standard input) on every target of the settings; bad files give findings.

    `model` is the analysis of what the file holds, where it is at hand.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

    try:
        model = model or ModelAnalysis(path, settings.analysis, data)
    except ModelError as error:
        from onnxlint_cmsis.checks.facts import FileProblem

        return _result(path, settings, None, [_problem(error.kind, FileProblem(error.message, Location(path)))])
    graph, lowered = model.graph, model.lowered
    too_large = too_large_for_sizes(model, settings)
    skipped = size_codes() if too_large else ()
    sized = NO_SIZES if skipped else size_findings(model, settings)
    layers = _marked(model, settings, _layer_findings(model, settings, sized.repairs), data)
    fit = _fit(model)
    findings = [*_problems(graph), *layers, *sized.findings, *fit.findings]
    result = _introduced(_result(path, settings, graph, findings, skipped), settings, model)
    opened = sorted({finding.code for finding in result.findings if finding.properties.get("converter_decides")})
    from onnxlint_cmsis.analysis.coverage import summarize

    return result._replace(
        summary=summarize(model),
        notes=(
            *result.notes,
            *model.notes(", ".join(opened)),
            *skip_notes(path, settings, too_large),
            *sized.notes,
            *fit.notes,
        ),
        statistics=(("nodes", len(graph.nodes)), ("layers", len(lowered.layers)), *result.statistics),
    )


def introduce(result: FileResult, settings: Settings, model: ModelAnalysis | None = None) -> FileResult | None:
    """A result with what its analysis takes for granted and short names; None where the file is no model.

    `model` is the analysis of what the file holds, where it is at hand.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

    try:
        return _introduced(result, settings, model or ModelAnalysis(result.path, settings.analysis))
    except ModelError:
        return None


def _introduced(result: FileResult, settings: Settings, model: ModelAnalysis) -> FileResult:
    from onnxlint_cmsis.analysis.coverage import layer_names

    called = layer_names(model)
    return result._replace(notes=_notes(model, settings), names=called.names, places=called.places)


def _result(
    path: str, settings: Settings, graph: Graph | None, findings: list[Finding], skipped: tuple[str, ...] = ()
) -> FileResult:
    """The findings that are left after selection, levels and suppressions."""
    kept = [finding for finding in (adjust(raw, settings) for raw in findings) if finding]
    left = accepted.apply(kept, settings, graph, path, skipped)
    return FileResult(
        path,
        left.findings,
        settings.fail_on,
        readable=graph is not None,
        statistics=(("suppressed", left.number),),
        skipped=skipped,
        matches=left.matches,
    )


def _problem(kind: str, problem: FileProblem) -> Finding:
    """The finding on a problem of a file, made by the rule that claims its kind."""
    from onnxlint_cmsis.checks.rule_registry import check_of_kind

    return next(check_of_kind(kind).findings(problem))


def _problems(graph: Graph) -> Iterator[Finding]:
    """What the reader found wrong, at the node it speaks of."""
    if not graph.problems:
        return
    from onnxlint_cmsis.checks.facts import FileProblem, cause_of
    from onnxlint_cmsis.model.graph import node_location

    by_label = {node.label: node for node in reversed(graph.nodes)}
    for problem in graph.problems:
        node = by_label.get(problem.node)
        text = f"{node.op_type} '{node.label}': {problem.message}" if node else problem.message
        where = node_location(graph.path, node) if node else Location(graph.path)
        level = Level.NOTE if problem.vendor else None
        yield _problem(problem.kind, FileProblem(text, where, level, cause_of(problem.message)))


class _Fit(NamedTuple):
    """What comparing a model with a device brings."""

    findings: tuple[Finding, ...] = ()
    """What does not fit."""
    notes: tuple[str, ...] = ()
    """What it needs, for each target."""


def _fit(model: ModelAnalysis) -> _Fit:
    """The model against the RAM and flash that somebody named."""
    if not any(room.ram or room.flash for room in model.settings.rooms):
        return _Fit()
    if model.interpretation:
        from onnxlint_cmsis.linting.tflite_fit import tflite_fit

        return _Fit(*tflite_fit(model.interpretation, model.settings.rooms))
    from onnxlint_cmsis.analysis.coverage import device_fits
    from onnxlint_cmsis.analysis.memory import UNKNOWN_RAM, fit_note
    from onnxlint_cmsis.checks.run_checks import fit_findings, merged

    fits = device_fits(model)
    findings = merged([finding for fit in fits for finding in fit_findings(fit.ram, fit.flash)])
    unknown = [UNKNOWN_RAM] if any(fit.ram is None and fit.flash.room.ram for fit in fits) else []
    notes = dict.fromkeys(filter(None, (fit_note(fit.ram, fit.flash) for fit in fits)))
    return _Fit(tuple(findings), (*notes, *unknown))


def _layer_findings(model: ModelAnalysis, settings: Settings, repairs: tuple[ClassFact, ...]) -> list[Finding]:
    from onnxlint_cmsis.checks.run_checks import model_findings

    runs = partial(enabled, settings=settings, path=model.path)
    wrong = {problem.node for problem in model.graph.problems if problem.node}  # further findings would follow from it
    findings = model_findings(model, model.lowered.without(wrong) if wrong else model.lowered, runs)
    if not repairs:
        return findings
    from onnxlint_cmsis.checks.kinds import priced

    return list(priced(findings, repairs))


def _marked(model: ModelAnalysis, settings: Settings, findings: list[Finding], data: bytes | None) -> list[Finding]:
    """The findings, those that a fix answers marked."""
    if not findings:
        return findings
    if not can_fix(model):
        return findings
    from onnxlint_cmsis.linting.mark_fixable import Promises

    promises = Promises(model, settings, data)
    return [promises.marked(finding) for finding in findings]


def _notes(model: ModelAnalysis, settings: Settings) -> tuple[str, ...]:
    lowered = model.lowered
    if not lowered.assumed:
        return ()
    weights = "weights per output channel in convolutions, one scale in fully connected layers"
    if settings.assume == "s16":
        weights = "s8 weights in convolutions, one scale in fully connected layers"
    if settings.legacy:
        weights = "one Q-format for each tensor"
    count = "All" if lowered.assumed == len(lowered.layers) else f"{lowered.assumed} of {len(lowered.layers)}"
    return (
        f"{count} layers compute in float; they are analysed as the {settings.assume} layers they will become "
        f"({weights}).",
    )
