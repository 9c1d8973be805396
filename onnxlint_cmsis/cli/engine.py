"""One file from bytes to findings, or to the rows of its layers: read, lower, route on every target, check, select."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.config import accepted
from onnxlint_cmsis.config.selection import adjust, enabled, fixable
from onnxlint_cmsis.formats.format import ONNX, file_of, is_image, part
from onnxlint_cmsis.ground.errors import CalibrationError, NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.findings import AFTER_PROOF, UNSAFELY, Finding, Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import DeviceFit
    from onnxlint_cmsis.analysis.real_ranges import Measured
    from onnxlint_cmsis.analysis.results import FileSummary
    from onnxlint_cmsis.checks.facts import ClassFact, FileProblem
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
    from onnxlint_cmsis.fixers.planning.policies import FixOptions
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.planning.repairable import Answers
    from onnxlint_cmsis.fixers.request import FixRequest
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
        from onnxlint_cmsis.checks.facts import FileProblem

        problem = _problem(error.kind, FileProblem(error.message, Location(path)))
        unknown = not_analysed(settings.targets, [problem])
        return _result(path, settings, None, [problem])._replace(verdicts=unknown)
    graph, lowered = model.graph, model.lowered
    settings = _with_full_names(settings, model)
    from onnxlint_cmsis.checks.rule import RuleScope
    from onnxlint_cmsis.checks.rule_registry import checks_of

    codes = tuple(check.rule.code for check in checks_of(RuleScope.CLASS))
    sizing = [code for code in codes if enabled(code, settings, path)]
    too_large = _too_large_for_sizes(model, settings)
    skipped = codes if too_large else ()
    sized = _size_findings(model, settings, prices) if sizing and lowered.layers and not too_large else SizeFindings()
    unchecked = (f"{' and '.join(sizing)} did not run: {too_large}.",) if sizing and too_large else sized.notes
    layers = _layer_findings(model, settings, sized.repairs)
    if layers and _can_fix(model):
        layers = list(map(Promises(model, settings, data).marked, layers))
    fit, deployed = _fit(model), _deployed(model, settings)
    findings = [*_problems(graph), *layers, *sized.findings, *fit.findings, *deployed.findings]
    result = _introduced(_result(path, settings, graph, findings, skipped), settings, model)
    opened = sorted({finding.selector for finding in result.findings if finding.properties.get("converter_decides")})
    from onnxlint_cmsis.analysis.coverage import summarize
    from onnxlint_cmsis.analysis.judgement import verdicts

    summary = summarize(model)
    return result._replace(
        summary=summary,
        verdicts=verdicts(model, summary, findings, fit.devices),
        notes=(
            *result.notes,
            *model.notes(", ".join(opened)),
            *unchecked,
            *fit.notes,
            *deployed.notes,
        ),
        left_out=unchecked,
        line=model.line,
        application=_application(model, settings, summary),
        statistics=(("nodes", len(graph.nodes)), ("layers", len(lowered.layers)), *result.statistics),
    )


def _application(model: ModelAnalysis, settings: Settings, summary: FileSummary) -> tuple[str, ...]:
    """What to paste into an application for a board; nothing where none is named, or the model stops."""
    arenas = {target.target: target.arena_to_write for target in summary.targets if target.arena_to_write is not None}
    if not settings.board or not arenas:
        return ()
    from onnxlint_cmsis.output.tflm_cpp import application_lines

    return (*application_lines(model.resolver, arenas),)


def _with_full_names(settings: Settings, model: ModelAnalysis) -> Settings:
    """Settings whose suppressions name nodes and tensors as the model does, where they use the short names shown."""
    if not any(entry.node or entry.tensor for entry in settings.suppress):
        return settings
    from onnxlint_cmsis.analysis.layer_names import layer_names

    full = {short: name for name, short in layer_names(model).names.items()}
    entries = (
        entry._replace(node=full.get(entry.node, entry.node), tensor=full.get(entry.tensor, entry.tensor))
        for entry in settings.suppress
    )
    return replace(settings, suppress=tuple(entries))


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
    from onnxlint_cmsis.checks.facts import FileProblem, group_of
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


def _fit(model: ModelAnalysis) -> _Fit:
    """The model against the RAM and flash that somebody named."""
    if not any(room.ram or room.flash for room in model.settings.rooms):
        return _Fit()
    from onnxlint_cmsis.analysis.fit import device_fits
    from onnxlint_cmsis.analysis.memory_needs import fit_note
    from onnxlint_cmsis.checks.run_checks import fit_findings, merged

    fits = device_fits(model)
    findings = merged([finding for fit in fits for finding in fit_findings(fit.ram, fit.flash)])
    notes = [fit_note(fit.ram, fit.flash) for fit in fits] + [fit.unknown for fit in fits]
    return _Fit(tuple(findings), tuple(dict.fromkeys(filter(None, notes))), fits)


def _deployed(model: ModelAnalysis, settings: Settings) -> _Fit:
    """The model in its firmware, where it is in an image or the settings name one."""
    if not (settings.firmware or is_image(file_of(model.path))):
        return _Fit()
    from onnxlint_cmsis.cli.firmware import deployment_findings, deployment_notes

    return _Fit(tuple(deployment_findings(model, settings)), deployment_notes(model, settings))


def _layer_findings(model: ModelAnalysis, settings: Settings, repairs: tuple[ClassFact, ...]) -> list[Finding]:
    from onnxlint_cmsis.checks.run_checks import model_findings

    runs = partial(enabled, settings=settings, path=model.path)
    wrong = {problem.node for problem in model.graph.problems if problem.node}  # further findings would follow from it
    findings = model_findings(model, model.lowered.without(wrong) if wrong else model.lowered, runs)
    if not repairs:
        return findings
    from onnxlint_cmsis.checks.kinds import priced

    return list(priced(findings, repairs))


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
        from onnxlint_cmsis.analysis.judgement import holds_integers
        from onnxlint_cmsis.fixers.proof.rounding import rounding_errors
        from onnxlint_cmsis.fixers.proof.samples import samples_of, tensor_ranges

        if model.format is not ONNX:
            raise CalibrationError(f"ONNX Runtime measures it, which runs no {model.format.suffix} files: {path}")
        floats = any(record.assumed for record in model.lowered.records) and not holds_integers(model)
        if not (settings.legacy or floats):
            raise CalibrationError(f"{path}: {NOTHING_TO_MEASURE}")
        beside = None if data is not None else Path(model.path)
        samples = samples_of(model.data, model.settings.input_shapes, calibration, beside)
        if settings.legacy:
            measured = tensor_ranges(samples)
        else:
            errors = rounding_errors(model.graph, model.lowered, model.read, samples, settings.assume)
            layers = with_errors(layers, model, errors.layers)
    if settings.legacy and model.interpretation is None:
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
        resolver=model.resolver,
    )
    return report._replace(output_errors=errors.outputs, samples=errors.samples) if errors else report


# What the settings ask of a fix, and what linting says of it: findings on sizes, and marks on what a fix would repair.


def fix_options(settings: Settings) -> FixOptions:
    """Policy and bounds that the settings give planning."""
    from onnxlint_cmsis.fixers.planning.policies import FixOptions

    return FixOptions(
        policy=settings.fix_policy,
        align=settings.align,
        min_gain=settings.min_gain,
        budget=settings.fix_budget_bytes,
        unsafe=settings.unsafe_fixes,
        weights=settings.weights,
    )


def fix_request(settings: Settings, path: str = "", model: ModelAnalysis | None = None) -> FixRequest:
    """The request that a file's settings make; with a path, accepted findings are not acted on.

    `model` is the analysis of the file, where it is at hand. Raises ModelError.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.checks.facts import PLAN
    from onnxlint_cmsis.checks.rule_registry import codes_of
    from onnxlint_cmsis.fixers.request import FixRequest

    request = FixRequest(settings.analysis, fix_options(settings))
    if not path:
        return request
    if any(entry.node or entry.tensor for entry in settings.suppress):
        settings = _with_full_names(settings, model or ModelAnalysis(path, settings.analysis))
    consent = accepted.Consent(settings, path)
    plans = fixable(settings, path) & {*codes_of(PLAN)}
    return request._replace(fixable=consent.fixable, accepted=consent.accepted, plans=plans)


class SizeFindings(NamedTuple):
    """What searching sizes brings."""

    findings: tuple[Finding, ...] = ()
    """Findings of the rules on sizes."""
    repairs: tuple[ClassFact, ...] = ()
    """Classes that grow to step around hazards."""
    notes: tuple[str, ...] = ()
    """Searches that ended early, as sentences."""


def _too_large_for_sizes(model: ModelAnalysis, settings: Settings) -> str:
    """Why sizes are not searched while linting, as a clause; empty where they are."""
    layers, limit, most = len(model.lowered.layers), settings.size_checks_limit, settings.size_checks_layers
    if not layers:
        return ""
    if limit is not None and model.size > limit:
        return f"the file has {model.size:,} bytes, size-checks-limit is {limit:,}"
    if most is not None and layers > most:
        return f"the model has {layers:,} layers, size-checks-layers is {most:,}"
    return ""


def _size_findings(model: ModelAnalysis, settings: Settings, prices: Prices | None) -> SizeFindings:
    """Findings of the rules on sizes, which search sizes and read weights."""
    from onnxlint_cmsis.checks.facts import unpromised
    from onnxlint_cmsis.cmsis_nn.library import predicted
    from onnxlint_cmsis.fixers.planning.consent import PlanLimits, agreed_plan
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.planning.size_facts import class_findings, repair_prices
    from onnxlint_cmsis.fixers.planning.subgraphs import unprovable
    from onnxlint_cmsis.fixers.planning.unchangeable import refused

    consent = accepted.Consent(settings, model.path)
    prices = prices or Prices(settings.targets, predicted, model.route, model.settings.runtime.library)
    kept = refused(model.graph, model.dimensions) | unprovable(model.graph, model.dimensions)
    plan = agreed_plan(model, prices, fix_options(settings), PlanLimits(kept, consent.fixable, consent.accepted))
    findings = (*class_findings(plan), *plan.accepted)
    notes = tuple(f"{text[0].upper()}{text[1:]}." for text in plan.ended)
    if not _can_fix(model):
        return SizeFindings(tuple(map(unpromised, findings)), (), notes)
    return SizeFindings(findings, repair_prices(plan), notes)


def _can_fix(model: ModelAnalysis) -> bool:
    """Whether a fix can rewrite a model and prove that it did not change: whether the proof's runtime takes it."""
    from onnxlint_cmsis.fixers.planning.unchangeable import can_change

    form, graph = model.format, model.graph
    fixed = bool(form.editor and form.prover) and file_of(model.path) == model.path and can_change(graph)
    return fixed and not (form.refused and any(map(part(form.refused), graph.nodes)))


class Promises:
    """What a fix of one file would do about its findings on layers.

    A repair that rewrites layers is tried in memory; the proof is not. A repair whose proof depends on what runs the
    model says so.
    """

    def __init__(self, model: ModelAnalysis, settings: Settings, data: bytes | None) -> None:
        """`data` is the content where it does not come from the file."""
        self._model, self._settings, self._data = model, settings, data
        self._repaired: dict[str, frozenset[str]] = {}
        """Layers that each repair was seen to mend, by the name of the repair."""

    def marked(self, finding: Finding) -> Finding:
        """The finding, marked as fixable if a repair fits it and the settings allow the repair."""
        from onnxlint_cmsis.checks.facts import PLAN, RESCALE, RETYPE, REWRITE
        from onnxlint_cmsis.checks.rule_registry import rule

        properties, action = finding.properties, rule(finding.code).action
        if properties.get("fixable") or not ("hazard" in properties or action in (REWRITE, RETYPE, RESCALE, PLAN)):
            return finding
        if finding.code not in fixable(self._settings, self._model.path):
            return finding
        return replace(finding, properties={**properties, **dict.fromkeys(self._marks(finding), True)})

    def _marks(self, finding: Finding) -> tuple[str, ...]:
        """Properties that say how a fix repairs it; none where --unsafe-fixes would not repair it either."""
        from onnxlint_cmsis.checks.facts import PLAN
        from onnxlint_cmsis.checks.rule_registry import rule
        from onnxlint_cmsis.fixers.planning.fits.input_pad import pad_would_do

        if rule(finding.code).action is PLAN:
            return ("fixable",) if any(room.ram for room in self._settings.analysis.rooms) else ()
        repair = self._answers.repair_for(finding)
        if repair is not None and not (repair.hazards and finding.location.node not in self._mends(repair)):
            if self._settings.unsafe_fixes or (repair.exact and not repair.as_written):
                return ("fixable",)
            return (UNSAFELY, AFTER_PROOF) if repair.exact else (UNSAFELY,)
        if finding.resize is None or "hazard" not in finding.properties:
            return ()
        if not pad_would_do(self._model, finding.resize):
            return ()
        return ("fixable",) if self._settings.unsafe_fixes else (UNSAFELY,)

    @cached_property
    def _answers(self) -> Answers:
        from onnxlint_cmsis.fixers.planning.repairable import Answers

        return Answers(self._model)

    def _mends(self, repair: RepairRow) -> frozenset[str]:
        """Layers that meet fewer hazards after a repair, as fixing would do it; labels."""
        if repair.name not in self._repaired:
            self._repaired[repair.name] = frozenset(self._tried(repair))
        return self._repaired[repair.name]

    def _tried(self, repair: RepairRow) -> list[str]:
        from onnxlint_cmsis.fixers.rewriting import rewritten_by
        from onnxlint_cmsis.fixers.snapshot import Snapshot
        from onnxlint_cmsis.formats.onnx.opening import open_buffer

        path, settings = self._model.path, self._settings
        try:
            data = open_buffer(path)[:] if self._data is None else self._data
            start = Snapshot(path, data, fix_request(settings, path, self._model), analysis=self._model)
            start.editor.check_readable(data, path)
            return [layer.label for layer in rewritten_by(repair, start, settings.fix_budget_bytes).layers]
        except (OSError, ModelError, UnreadableError, NotAppliedError):
            return []
