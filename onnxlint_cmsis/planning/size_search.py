"""What linting searches sizes for: findings of the rules on sizes, and the note where these did not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.config.settings import enabled
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.checks.facts import ClassFact
    from onnxlint_cmsis.config.settings import Settings


class SizeFindings(NamedTuple):
    """What searching sizes brings."""

    findings: tuple[Finding, ...]
    """Findings of the rules on sizes."""
    repairs: tuple[ClassFact, ...]
    """Classes that grow to step around hazards."""
    notes: tuple[str, ...] = ()
    """Searches that ended early, as sentences."""


NO_SIZES = SizeFindings((), ())


def size_findings(model: ModelAnalysis, settings: Settings) -> SizeFindings:
    """Findings of the rules on sizes, which search sizes and read weights."""
    if not _sizing(model.path, settings) or not model.lowered.layers:
        return NO_SIZES
    from onnxlint_cmsis.checks.facts import unpromised
    from onnxlint_cmsis.cmsis_nn.library import predicted
    from onnxlint_cmsis.config.accepted import Consent, fix_options
    from onnxlint_cmsis.planning.layouts import refused
    from onnxlint_cmsis.planning.problem import Prices
    from onnxlint_cmsis.planning.solve import PlanLimits, agreed_plan, class_findings, repair_prices, unprovable

    consent = Consent(settings, model.path)
    prices = Prices(settings.targets, predicted, model.route, model.settings.runtime.library)
    kept = refused(model.graph, model.dimensions) | unprovable(model.graph, model.dimensions)
    plan = agreed_plan(model, prices, fix_options(settings), PlanLimits(kept, consent.fixable, consent.accepted))
    findings = (*class_findings(plan), *plan.accepted)
    notes = tuple(f"{text[0].upper()}{text[1:]}." for text in plan.ended)
    if not can_fix(model):
        return SizeFindings(tuple(map(unpromised, findings)), (), notes)
    return SizeFindings(findings, repair_prices(plan), notes)


def can_fix(model: ModelAnalysis) -> bool:
    """Whether a fix can rewrite a model and prove that it did not change: whether the proof's runtime takes it."""
    from onnxlint_cmsis.planning.layouts import can_change

    form, graph = model.format, model.graph
    fixed = bool(form.editor and form.prover) and can_change(graph)
    return fixed and not (form.refused and any(map(part(form.refused), graph.nodes)))


def size_codes() -> tuple[str, ...]:
    """Codes of the rules on sizes."""
    from onnxlint_cmsis.checks.rule import RuleScope
    from onnxlint_cmsis.checks.rule_registry import checks_of

    return tuple(check.rule.code for check in checks_of(RuleScope.CLASS))


def _sizing(path: str, settings: Settings) -> list[str]:
    """Codes of the rules on sizes that the settings ask for."""
    return [code for code in size_codes() if enabled(code, settings, path)]


def skip_notes(path: str, settings: Settings, too_large: str) -> Iterator[str]:
    """The note that rules on sizes were asked for and did not run."""
    wanted = _sizing(path, settings)
    if too_large and wanted:
        yield f"{' and '.join(wanted)} did not run: {too_large}."


def too_large_for_sizes(model: ModelAnalysis, settings: Settings) -> str:
    """Why sizes are not searched while linting, as a clause; empty where they are."""
    layers, limit, most = len(model.lowered.layers), settings.size_checks_limit, settings.size_checks_layers
    if not layers:
        return ""
    if limit is not None and model.size > limit:
        return f"the file has {model.size:,} bytes, size-checks-limit is {limit:,}"
    if most is not None and layers > most:
        return f"the model has {layers:,} layers, size-checks-layers is {most:,}"
    return ""
