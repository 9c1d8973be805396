"""What the settings ask of a fix, and what linting says of it: findings on sizes, and marks on what it would repair."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.full_names import with_full_names
from onnxlint_cmsis.config.consent import Consent
from onnxlint_cmsis.config.selection import fixable
from onnxlint_cmsis.formats.format import file_of, part
from onnxlint_cmsis.ground.findings import AFTER_PROOF, UNSAFELY, Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.checks.class_facts import ClassFact
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.policies import FixOptions
    from onnxlint_cmsis.fixers.planning.repairable import Answers
    from onnxlint_cmsis.fixers.request import FixRequest
    from onnxlint_cmsis.fixers.snapshot import Snapshot


def fix_options(settings: Settings) -> FixOptions:
    """Policy and bounds that the settings give planning."""
    from onnxlint_cmsis.fixers.planning.policies import FixOptions

    return FixOptions(
        policy=settings.fix_policy,
        align=settings.align,
        min_gain=settings.min_gain,
        most_instructions=settings.most_instructions,
        budget=settings.fix_budget_bytes,
        unsafe=settings.unsafe_fixes,
        weights=settings.weights,
    )


def fix_request(settings: Settings, path: str = "", model: ModelAnalysis | None = None) -> FixRequest:
    """The request that a file's settings make; with a path, accepted findings are not acted on.

    `model` is the analysis of the file, where it is at hand. Raises ModelError.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.request import FixRequest

    request = FixRequest(settings.analysis, fix_options(settings))
    if not path:
        return request
    if any(entry.node or entry.tensor for entry in settings.suppress):
        settings = with_full_names(settings, model or ModelAnalysis(path, settings.analysis))
    consent = Consent(settings, path)
    return request._replace(fixable=consent.fixable, accepted=consent.accepted, plans=consent.plans)


class SizeFindings(NamedTuple):
    """What searching sizes brings."""

    findings: tuple[Finding, ...] = ()
    """Findings of the rules on sizes."""
    repairs: tuple[ClassFact, ...] = ()
    """Classes that grow to step around hazards."""
    notes: tuple[str, ...] = ()
    """Searches that ended early, as sentences."""

    @property
    def unpromised(self) -> SizeFindings:
        """The same of a model that a fix leaves as it is."""
        from onnxlint_cmsis.checks.class_facts import unpromised

        return SizeFindings(tuple(map(unpromised, self.findings)), (), self.notes)


def too_large_for_sizes(model: ModelAnalysis, settings: Settings) -> str | None:
    """Why sizes are not searched while linting, as a clause; None where they are."""
    layers, limit, most = len(model.lowered.layers), settings.size_checks_limit, settings.size_checks_layers
    if not layers:
        return None
    if limit is not None and model.size > limit:
        return f"the file has {model.size:,} bytes, size-checks-limit is {limit:,}"
    if most is not None and layers > most:
        return f"the model has {layers:,} layers, size-checks-layers is {most:,}"
    return None


def size_findings(start: Snapshot) -> SizeFindings:
    """Findings of the rules on sizes, which search sizes and read weights."""
    from onnxlint_cmsis.checks.class_facts import unpromised
    from onnxlint_cmsis.fixers.planning.size_facts import class_findings, class_repairs

    plan = start.plan
    findings = (*class_findings(plan), *map(unpromised, plan.accepted))
    notes = tuple(f"{text[0].upper()}{text[1:]}." for text in plan.ended)
    sized = SizeFindings(findings, class_repairs(plan), notes)
    return sized if can_fix(start.analysis) else sized.unpromised


def can_fix(model: ModelAnalysis) -> bool:
    """Tell whether a fix can rewrite a model and prove that it did not change: whether the proof's runtime takes it."""
    from onnxlint_cmsis.fixers.planning.unchangeable import can_change

    form, graph = model.format, model.graph
    fixed = bool(form.editor and form.prover) and file_of(model.path) == model.path and can_change(graph)
    return fixed and not (form.refused and any(map(part(form.refused), graph.nodes)))


def repaired_by_fix(finding: Finding) -> bool:
    """Tell whether a fix answers a finding by new nodes, weights or channels of its layer."""
    from onnxlint_cmsis.checks.fix_actions import REWRITE
    from onnxlint_cmsis.checks.rule_registry import rule

    repaired = "hazard" in finding.properties or rule(finding.code).action is REWRITE
    return bool(finding.properties.get("fixable")) and repaired


def may_add(finding: Finding) -> bool:
    """Tell whether a fix answers a finding by channels or nodes that take RAM or flash."""
    from onnxlint_cmsis.checks.rule_registry import rule

    action = rule(finding.code).action
    return bool(finding.properties.get("fixable") and action and action.adds)


class Promises:
    """What a fix of one file would do about its findings on layers.

    Nothing is rewritten or proven for it: a repair says which calls it makes, and these are routed. A repair whose
    proof depends on what runs the model says so.
    """

    def __init__(self, model: ModelAnalysis, settings: Settings) -> None:
        self._model, self._settings = model, settings

    def promised(self, findings: list[Finding], sized: tuple[ClassFact, ...]) -> list[Finding]:
        """Findings on layers, marked as fixable if a repair fits them and the settings allow the repair.

        `sized` are the classes that the fix gives other channel counts to step around hazards.
        """
        if not sized:
            return [*map(self._marked, findings)]
        from onnxlint_cmsis.checks.class_repairs import priced

        return [*map(self._marked, priced(findings, sized))]

    def _marked(self, finding: Finding) -> Finding:
        from onnxlint_cmsis.checks.fix_actions import PLAN, RESCALE, RETYPE, REWRITE
        from onnxlint_cmsis.checks.rule_registry import rule

        properties, action = finding.properties, rule(finding.code).action
        if properties.get("fixable") or not ("hazard" in properties or action in (REWRITE, RETYPE, RESCALE, PLAN)):
            return finding
        if finding.code not in self._fixable:
            return finding
        return replace(finding, properties={**properties, **dict.fromkeys(self._marks(finding), True)})

    def _marks(self, finding: Finding) -> tuple[str, ...]:
        """Properties that say how a fix repairs it; none where --unsafe-fixes would not repair it either."""
        from onnxlint_cmsis.checks.fix_actions import PLAN
        from onnxlint_cmsis.checks.rule_registry import rule
        from onnxlint_cmsis.fixers.planning.fits.input_pad import pad_would_do
        from onnxlint_cmsis.fixers.planning.policies import plans_memory

        if rule(finding.code).action is PLAN:
            asked = plans_memory(self._settings.fix_policy, self._settings.analysis.rooms)
            return ("fixable",) if asked else ()
        repair = self._answers.repair_for(finding)
        room = self._settings.fix_budget_bytes
        if repair and (not repair.hazards or self._answers.mends(repair, finding.location.node, room)):
            if self._settings.unsafe_fixes or (repair.exact and not repair.as_written):
                return ("fixable",)
            return (UNSAFELY, AFTER_PROOF) if repair.exact else (UNSAFELY,)
        if finding.resize is None or "hazard" not in finding.properties:
            return ()
        if not pad_would_do(self._model, finding.resize):
            return ()
        return ("fixable",) if self._settings.unsafe_fixes else (UNSAFELY,)

    @cached_property
    def _fixable(self) -> frozenset[str]:
        return fixable(self._settings, self._model.path)

    @cached_property
    def _answers(self) -> Answers:
        from onnxlint_cmsis.fixers.planning.repairable import Answers

        return Answers(self._model)
