"""One file from bytes to findings, or to the rows of its layers: read, lower, route on every target, check, select."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult, FileSummary
from onnxlint_cmsis.cli.fix_answers import answered
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
    from onnxlint_cmsis.analysis.real_ranges import Measured
    from onnxlint_cmsis.checks.file_problem import FileProblem
    from onnxlint_cmsis.config.settings import Settings
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
    path, graph, lowered = model.path, model.graph, model.lowered
    answers, deployed = answered(_layer_findings(model, settings), model, settings, prices), _deployed(model, settings)
    findings = [*_problems(graph), *answers.layers, *answers.sizes, *answers.fit.findings, *deployed.findings]
    result = _introduced(_result(path, settings, graph, findings, answers.skipped), settings, model)
    opened = sorted({finding.selector for finding in result.findings if finding.properties.get("converter_decides")})
    from onnxlint_cmsis.analysis.coverage import summarize
    from onnxlint_cmsis.analysis.judgement import verdicts
    from onnxlint_cmsis.analysis.verdict import WORDS

    summary = model.once(summarize)
    judged = verdicts(model, summary, [*findings, *deployed.image], answers.fit.devices)
    stops = all(verdict.word == WORDS[Effect.STOPS] for verdict in judged)
    return result._replace(
        summary=summary,
        verdicts=judged,
        notes=(
            *result.notes,
            *model.notes(", ".join(opened)),
            *answers.notes,
            *answers.fit.notes,
            *deployed.notes,
        ),
        left_out=(*answers.notes, *deployed.untold),
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
