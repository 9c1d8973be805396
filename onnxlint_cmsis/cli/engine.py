"""One file from bytes to findings, or to the rows of its layers: read, lower, route on every target, check, select."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult, FileSummary
from onnxlint_cmsis.cli import fix_promises
from onnxlint_cmsis.cli.full_names import with_full_names
from onnxlint_cmsis.config import accepted
from onnxlint_cmsis.config.selection import adjust, enabled
from onnxlint_cmsis.formats.format import ONNX, file_of, is_image
from onnxlint_cmsis.ground.errors import CalibrationError
from onnxlint_cmsis.ground.findings import Effect, Finding, Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import DeviceFit
    from onnxlint_cmsis.analysis.real_ranges import Measured
    from onnxlint_cmsis.checks.class_facts import ClassFact
    from onnxlint_cmsis.checks.file_problem import FileProblem
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.exact_way import Rehearsal
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.output.layers import LayersReport


def lint_file(
    path: str,
    settings: Settings,
    data: bytes | None = None,
    model: ModelAnalysis | None = None,
    prices: Prices | None = None,
) -> FileResult:
    """Lint one file (or `data`, read from standard input) on every target of the settings; bad files give findings.

    `model` is the analysis of what the file holds, `prices` are those of the same targets, where they are at hand.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.verdict import not_analysed

    try:
        if data is None and is_image(path):
            from onnxlint_cmsis.cli.firmware import lint_firmware

            firmware = lint_firmware(path, settings)
            if firmware is not None:
                return firmware
        model = model or ModelAnalysis(path, settings.analysis, data)
    except ModelError as error:
        from onnxlint_cmsis.checks.file_problem import FileProblem

        problem = _problem(error.kind, FileProblem(error.message, Location(path)))
        unknown = not_analysed(settings.targets, [problem])
        return _result(path, settings, None, [problem])._replace(verdicts=unknown)
    return _linted(model, with_full_names(settings, model), prices)


def _linted(model: ModelAnalysis, settings: Settings, prices: Prices | None) -> FileResult:
    """The findings and verdicts of a model that was read."""
    from onnxlint_cmsis.checks.rule import RuleScope
    from onnxlint_cmsis.checks.rule_registry import checks_of

    path, graph, lowered = model.path, model.graph, model.lowered
    codes = tuple(check.rule.code for check in checks_of(RuleScope.CLASS))
    sizing = [code for code in codes if enabled(code, settings, path)]
    too_large = fix_promises.too_large_for_sizes(model, settings)
    skipped = codes if too_large else ()
    raw = _layer_findings(model, settings)

    def answered(settings: Settings) -> tuple[list[Finding], fix_promises.SizeFindings]:
        """Findings on layers with what a fix would do, and findings on sizes."""
        sizes = bool(sizing and lowered.layers and not too_large)
        sized = fix_promises.size_findings(model, settings, prices) if sizes else fix_promises.SizeFindings()
        return _promised(raw, sized.repairs, model, settings, searched=not too_large), sized

    layers, sized = answered(settings)
    fit = _fit(model, settings, adds=any(map(fix_promises.may_add, (*layers, *sized.findings))))
    if fit.rehearsal and fit.rehearsal.unfixed:
        layers, sized = raw, sized.unpromised
    elif fit.rehearsal and fit.rehearsal.outgrown:
        from onnxlint_cmsis.fixers.planning.policies import LEAST

        layers, sized = answered(replace(settings, fix_policy=LEAST))
    deployed = _deployed(model, settings)
    unchecked = (f"{' and '.join(sizing)} did not run: {too_large}.",) if sizing and too_large else sized.notes
    findings = [*_problems(graph), *layers, *sized.findings, *fit.findings, *deployed.findings]
    result = _introduced(_result(path, settings, graph, findings, skipped), settings, model)
    opened = sorted({finding.selector for finding in result.findings if finding.properties.get("converter_decides")})
    from onnxlint_cmsis.analysis.coverage import summarize
    from onnxlint_cmsis.analysis.judgement import verdicts
    from onnxlint_cmsis.analysis.verdict import WORDS

    summary = summarize(model)
    judged = verdicts(model, summary, [*findings, *deployed.image], fit.devices)
    stops = all(verdict.word == WORDS[Effect.STOPS] for verdict in judged)
    return result._replace(
        summary=summary,
        verdicts=judged,
        notes=(
            *result.notes,
            *model.notes(", ".join(opened)),
            *unchecked,
            *fit.notes,
            *deployed.notes,
        ),
        left_out=(*unchecked, *deployed.untold),
        line=model.line,
        firmware=deployed.path,
        application=_application(model, summary) if settings.board and not stops else (),
        statistics=(("nodes", len(graph.nodes)), ("layers", len(lowered.layers)), *result.statistics),
    )


def _application(model: ModelAnalysis, summary: FileSummary) -> tuple[str, ...]:
    """What to paste into an application that runs the model in TensorFlow Lite Micro; nothing for another runtime."""
    arenas = {target.target: target.arena_to_write for target in summary.targets if target.arena_to_write is not None}
    from onnxlint_cmsis.output.tflm_cpp import application_lines

    return (*application_lines(model.execution.resolver, arenas),)


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
    from onnxlint_cmsis.analysis.layer_names import layer_names

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
    from onnxlint_cmsis.checks.file_problem import FileProblem, group_of
    from onnxlint_cmsis.model.node_location import node_location

    by_label = {node.label: node for node in reversed(graph.nodes)}
    for problem in graph.problems:
        node = by_label.get(problem.node)
        text = f"{node.op_type} '{node.label}': {problem.message}" if node else problem.message
        where = node_location(graph.path, node) if node else Location(graph.path)
        level = Level.NOTE if problem.vendor else None
        group = f"{group_of(problem.message)} {problem.do}".rstrip()
        yield _problem(problem.kind, FileProblem(text, where, level, group, problem.do))


class _Fit(NamedTuple):
    """What comparing a model with a device brings."""

    findings: tuple[Finding, ...] = ()
    """What does not fit."""
    notes: tuple[str, ...] = ()
    """What it needs, for each target."""
    devices: tuple[DeviceFit, ...] = ()
    """The model against each device."""
    rehearsal: Rehearsal | None = None
    """What `--fix` makes of the model; None where nothing has to be known of it."""


def _fit(model: ModelAnalysis, settings: Settings, *, adds: bool) -> _Fit:
    """The model against the RAM and flash that somebody named; `adds` tells whether `--fix` adds to it."""
    if not any(room.ram or room.flash for room in model.settings.rooms):
        return _Fit()
    from onnxlint_cmsis.analysis.fit import device_fits
    from onnxlint_cmsis.analysis.memory_needs import fit_note
    from onnxlint_cmsis.checks.run_checks import fit_findings, merged

    fits, rehearsal = device_fits(model), None
    if (adds or any(fit.fits is False for fit in fits)) and fix_promises.can_fix(model):
        from onnxlint_cmsis.fixers.exact_way import rehearsed, with_exact_ways

        rehearsal = rehearsed(model, fix_promises.fix_request(settings, model.path, model))
        fits = with_exact_ways(model, fits, rehearsal.fixed)
    findings = merged([finding for fit in fits for finding in fit_findings(fit.ram, fit.flash)])
    notes = [fit_note(fit.ram, fit.flash) for fit in fits] + [fit.unknown for fit in fits]
    if rehearsal and rehearsal.outgrown:
        does = "leaves the model as it is: fixed" if rehearsal.unfixed else "adds no channels: with them"
        notes.append(f"--fix {does} it would need {rehearsal.outgrown}.")
    return _Fit(tuple(findings), tuple(dict.fromkeys(filter(None, notes))), fits, rehearsal)


class _Deployed(NamedTuple):
    """What the firmware of a model brings."""

    path: str = ""
    """Image that has the bytes of the model file."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with the model in it."""
    image: tuple[Finding, ...] = ()
    """What is wrong with it for every model: the image has these findings, and they decide on the model."""
    notes: tuple[str, ...] = ()
    """What it decided."""
    untold: tuple[str, ...] = ()
    """Those of the notes that say what it does not tell."""


def _deployed(model: ModelAnalysis, settings: Settings) -> _Deployed:
    """The model in its firmware, where it is in an image or the settings name one."""
    if not (settings.firmware or is_image(file_of(model.path))):
        return _Deployed()
    from onnxlint_cmsis.cli.firmware import deployment_findings, deployment_notes, firmware_of, image_faults, untold

    open_ = untold(model, settings)
    return _Deployed(
        firmware_of(model, settings),
        tuple(deployment_findings(model, settings)),
        tuple(image_faults(model, settings)),
        (*deployment_notes(model, settings), *open_),
        open_,
    )


def _layer_findings(model: ModelAnalysis, settings: Settings) -> list[Finding]:
    from onnxlint_cmsis.checks.run_checks import model_findings

    runs = partial(enabled, settings=settings, path=model.path)
    wrong = {problem.node for problem in model.graph.problems if problem.node}  # further findings would follow from it
    return model_findings(model, model.lowered.without(wrong) if wrong else model.lowered, runs)


def _promised(
    findings: list[Finding], sized: tuple[ClassFact, ...], model: ModelAnalysis, settings: Settings, *, searched: bool
) -> list[Finding]:
    """Findings on layers with what a fix would do; with its price where sizes are searched, which takes as long.

    `sized` are the classes that the fix gives other channel counts to step around hazards.
    """
    if not fix_promises.can_fix(model):
        return findings
    from onnxlint_cmsis.checks.repair_prices import priced

    marked = list(map(fix_promises.Promises(model, settings).marked, priced(findings, sized) if sized else findings))
    if not (searched and any(map(fix_promises.repaired_by_fix, marked))):
        return marked
    from onnxlint_cmsis.cli.repair_prices import with_prices

    return with_prices(zip(findings, marked, strict=True), model, settings)


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


NOTHING_TO_MEASURE = (
    "it computes in integers, so there is nothing to measure: compare its outputs with those of the float model that "
    "it was made from"
)
"""Said of a quantized model with samples."""


def layers_report(
    path: str,
    settings: Settings,
    data: bytes | None = None,
    model: ModelAnalysis | None = None,
    calibration: str = "",
) -> LayersReport:
    """What `layers` shows of a file, or of `data` in its place; `model` is its analysis.

    `calibration` is a file or folder of inputs. They give what each float layer loses as the type that it is assumed
    as, and the Q-formats of the legacy API. Raises ModelError, CalibrationError.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.boundary import boundary
    from onnxlint_cmsis.analysis.layer_names import layer_names
    from onnxlint_cmsis.analysis.layer_totals import totals
    from onnxlint_cmsis.analysis.layers import layer_reports, with_errors, with_formats
    from onnxlint_cmsis.output.layers import LayersReport

    model = model or ModelAnalysis(path, settings.analysis, data)
    layers, errors = layer_reports(model), None
    measured: Measured = {}
    if calibration:
        from onnxlint_cmsis.fixers.proof.rounding import rounding_errors
        from onnxlint_cmsis.fixers.proof.samples import samples_of, tensor_ranges

        if model.format is not ONNX:
            raise CalibrationError(f"ONNX Runtime measures it, which runs no {model.format.suffix} files: {path}")
        floats = any(record.assumed for record in model.lowered.records) and not model.holds_integers
        if not (settings.legacy or floats):
            raise CalibrationError(f"{path}: {NOTHING_TO_MEASURE}")
        beside = None if data is not None else Path(model.path)
        samples = samples_of(model.data, model.settings.input_shapes, calibration, beside)
        if settings.legacy:
            measured = tensor_ranges(samples)
        else:
            errors = rounding_errors(model.graph, model.lowered, model.read, samples, settings.assume)
            layers = with_errors(layers, model, errors.layers)
    if settings.legacy and not model.execution.reads_file:
        layers = with_formats(layers, model, measured)
    sums = [*totals(model)] if layers else []
    packed, names = model.settings.floating.packed, layer_names(model).names
    report = LayersReport(
        layers,
        sums,
        names,
        model.notes(),
        boundary=boundary(model),
        packed=packed,
        resolver=model.execution.resolver,
    )
    return report._replace(output_errors=errors.outputs, samples=errors.samples) if errors else report
