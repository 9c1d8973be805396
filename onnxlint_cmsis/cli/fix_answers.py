"""Findings with what `--fix` would do about them, in the RAM and flash that were named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli import fix_promises
from onnxlint_cmsis.config.selection import enabled
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import DeviceFit
    from onnxlint_cmsis.checks.class_facts import ClassFact
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.rehearsal import Rehearsal


class Fit(NamedTuple):
    """What comparing a model with a device brings."""

    findings: tuple[Finding, ...] = ()
    """What does not fit."""
    notes: tuple[str, ...] = ()
    """What it needs, for each target."""
    devices: tuple[DeviceFit, ...] = ()
    """The model against each device."""
    rehearsal: Rehearsal | None = None
    """What `--fix` makes of the model; None where nothing has to be known of it."""


def _fit(model: ModelAnalysis, settings: Settings, *, adds: bool) -> Fit:
    """The model against the RAM and flash that somebody named; `adds` tells whether `--fix` adds to it."""
    if not any(room.ram or room.flash for room in model.settings.rooms):
        return Fit()
    from onnxlint_cmsis.analysis.fit import device_fits
    from onnxlint_cmsis.analysis.memory_needs import fit_note
    from onnxlint_cmsis.checks.run_checks import fit_findings, merged

    fits, rehearsal = device_fits(model), None
    if (adds or any(fit.fits is False for fit in fits)) and fix_promises.can_fix(model):
        from onnxlint_cmsis.fixers.exact_way import with_exact_ways
        from onnxlint_cmsis.fixers.rehearsal import rehearsed

        rehearsal = rehearsed(model, fix_promises.fix_request(settings, model.path, model))
        fits = with_exact_ways(model, fits, rehearsal.fixed)
    findings = merged([finding for fit in fits for finding in fit_findings(fit.ram, fit.flash)])
    notes = [fit_note(fit.ram, fit.flash) for fit in fits] + [fit.unknown for fit in fits]
    if rehearsal and rehearsal.outgrown:
        does = "leaves the model as it is: fixed" if rehearsal.unfixed else "adds no channels: with them"
        notes.append(f"--fix {does} it would need {rehearsal.outgrown}.")
    return Fit(tuple(findings), tuple(dict.fromkeys(filter(None, notes))), fits, rehearsal)


class Answers(NamedTuple):
    """Findings on layers and on sizes, and how the model fits."""

    layers: list[Finding]
    """Findings on layers, with what a fix would do about them."""
    sizes: tuple[Finding, ...]
    """Findings on sizes."""
    fit: Fit
    """The model against each device."""
    skipped: tuple[str, ...]
    """Codes of rules on sizes that did not run."""
    notes: tuple[str, ...]
    """Why they did not, or that a search ended early, as sentences."""


def answered(layers: list[Finding], model: ModelAnalysis, settings: Settings, prices: Prices | None) -> Answers:
    """Add what a fix would do to findings on layers, and search sizes where rules ask for it.

    A fix adds no channels where the model would not fit with them.
    """
    from onnxlint_cmsis.checks.rule import RuleScope
    from onnxlint_cmsis.checks.rule_registry import checks_of

    codes = tuple(check.rule.code for check in checks_of(RuleScope.CLASS))
    sizing = [code for code in codes if enabled(code, settings, model.path)]
    too_large = fix_promises.too_large_for_sizes(model, settings)
    searched = bool(sizing and model.lowered.layers and not too_large)

    def under(settings: Settings) -> tuple[list[Finding], fix_promises.SizeFindings]:
        sized = fix_promises.size_findings(model, settings, prices) if searched else fix_promises.SizeFindings()
        return _promised(layers, sized.repairs, model, settings, searched=not too_large), sized

    promised, sized = under(settings)
    fit = _fit(model, settings, adds=any(map(fix_promises.may_add, (*promised, *sized.findings))))
    if fit.rehearsal and fit.rehearsal.unfixed:
        promised, sized = layers, sized.unpromised
    elif fit.rehearsal and fit.rehearsal.outgrown:
        from onnxlint_cmsis.fixers.planning.policies import LEAST

        promised, sized = under(replace(settings, fix_policy=LEAST))
    notes = (f"{' and '.join(sizing)} did not run: {too_large}.",) if sizing and too_large else sized.notes
    return Answers(promised, sized.findings, fit, codes if too_large else (), notes)


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
    from onnxlint_cmsis.cli.fix_prices import with_prices

    return with_prices(zip(findings, marked, strict=True), model, settings)
