"""Findings with what `--fix` would do about them, in the RAM and flash that were named."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli import fix_promises
from onnxlint_cmsis.config.selection import enabled
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.memory_needs import DeviceFit
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.report import Fixed
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.fixers.steps import Reasons


class Fit(NamedTuple):
    """What comparing a model with a device brings."""

    findings: tuple[Finding, ...] = ()
    """What does not fit."""
    notes: tuple[str, ...] = ()
    """What it needs, for each target."""
    devices: tuple[DeviceFit, ...] = ()
    """The model against each device."""


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

    What a fix would do is worked out in memory where findings say what it costs, and where RAM or flash is named. Of
    files above the limits of searches nothing is worked out, and no fix is promised that room may keep from being done.
    """
    from onnxlint_cmsis.checks.rule import RuleScope
    from onnxlint_cmsis.checks.rule_registry import checks_of

    codes = tuple(check.rule.code for check in checks_of(RuleScope.CLASS))
    sizing = [code for code in codes if enabled(code, settings, model.path)]
    too_large = fix_promises.too_large_for_sizes(model, settings)
    searched, mends = bool(sizing and model.lowered.layers and not too_large), fix_promises.can_fix(model)
    fits = _device_fits(model)
    notes = (f"{' and '.join(sizing)} did not run: {too_large}.",) if sizing and too_large else ()
    skipped = codes if too_large else ()
    promises = fix_promises.Promises(model, settings) if mends else None

    @cache
    def start() -> Snapshot:
        from onnxlint_cmsis.fixers.snapshot import Snapshot

        request = fix_promises.fix_request(settings, model.path, model)
        return Snapshot(model.path, None, request, prices, model)

    def under(left_alone: Reasons) -> tuple[list[Finding], fix_promises.SizeFindings]:
        """Findings on layers and on sizes, where a fix leaves some classes as they are."""
        without = fix_promises.SizeFindings()
        sized = fix_promises.size_findings(start().without(left_alone)) if searched else without
        return promises.promised(layers, sized.repairs) if promises else layers, sized

    promised, sized = under({})
    if too_large:
        return Answers(layers if fits else promised, sized.findings, _fit(fits), skipped, (*notes, *sized.notes))
    priced = any(map(fix_promises.repaired_by_fix, promised))
    grows = fits and any(map(fix_promises.may_add, (*promised, *sized.findings)))
    if not (mends and (priced or grows or any(fit.fits is False for fit in fits))):
        return Answers(promised, sized.findings, _fit(fits), skipped, (*notes, *sized.notes))
    from onnxlint_cmsis.cli.fix_prices import with_prices
    from onnxlint_cmsis.fixers.fit_promise import with_promised_fits
    from onnxlint_cmsis.fixers.fix_model import rehearsed

    fixed = rehearsed(start())
    if fixed.unroomed:
        promised, sized = under({**fixed.unroomed})
    stays = fixed.outgrown and not fixed.unroomed
    if stays or not (fixed.result.changed or settings.unsafe_fixes):
        sized = sized.unpromised
    pairs = zip(layers, promised, strict=True)
    if stays:
        promised = [raw if marked.properties.get("fixable") else marked for raw, marked in pairs]
    else:
        promised = [*with_prices(pairs, fixed.result, unsafe=settings.unsafe_fixes)]
    fit = _fit(with_promised_fits(model, fits, fixed), fixed)
    return Answers(promised, sized.findings, fit, skipped, (*notes, *sized.notes))


def _device_fits(model: ModelAnalysis) -> tuple[DeviceFit, ...]:
    """The model against the RAM and flash that somebody named."""
    if not any(room.ram or room.flash for room in model.settings.rooms):
        return ()
    from onnxlint_cmsis.analysis.fit import device_fits

    return device_fits(model)


def _fit(fits: Sequence[DeviceFit], fixed: Fixed | None = None) -> Fit:
    """What does not fit, and the bytes that it takes; `fixed` is what a fix makes of the model."""
    if not fits:
        return Fit()
    from onnxlint_cmsis.analysis.memory_needs import fit_note
    from onnxlint_cmsis.checks.run_checks import fit_findings, merged

    findings = merged([finding for fit in fits for finding in fit_findings(fit.ram, fit.flash)])
    notes = [fit_note(fit.ram, fit.flash) for fit in fits] + [fit.unknown for fit in fits]
    if fixed and fixed.outgrown:
        from onnxlint_cmsis.output.foreign_text import counted

        left = len(fixed.unroomed)
        are = "it is" if left == 1 else "they are"
        counts = f"{counted(left, 'channel count')} as {are}: with more channels the model" if left else ""
        notes.append(f"--fix leaves {counts or 'the model as it is: fixed it'} would need {fixed.outgrown}.")
    return Fit(tuple(findings), tuple(dict.fromkeys(filter(None, notes))), tuple(fits))
