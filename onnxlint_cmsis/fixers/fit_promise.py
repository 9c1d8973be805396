"""How `--fix` makes a model take less RAM or flash than it does, with the bytes that it takes then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.certificate.verifying import ROW_NUMBERS, certificate_of
from onnxlint_cmsis.analysis.fit import device_fits
from onnxlint_cmsis.analysis.memory_needs import DeviceFit, ExactWay
from onnxlint_cmsis.runtimes.tflm.resolver import more_methods

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.fixers.report import Fixed


def with_promised_fits(model: ModelAnalysis, fits: Sequence[DeviceFit], fixed: Fixed) -> tuple[DeviceFit, ...]:
    """Comparisons of a model with devices, each with what the fixed model takes where that is less.

    That is said of a model alone that is known to be equal for every input.
    """
    if fixed.end is None or (fixed.model is None and fixed.least is None):
        return tuple(fits)
    edited = fixed.result.classes or fixed.result.rewrites  # a plan alone needs no proof, and parts have theirs
    if edited and certificate_of(model, fixed.end.analysis, ROW_NUMBERS) is None:
        return tuple(fits)
    reached = {fit.flash.target: fit for fit in device_fits(fixed.end.analysis)}
    registers = more_methods(model.execution.resolver, fixed.end.analysis.execution.resolver)
    return tuple(_with_ways(fit, reached[fit.flash.target], fixed, registers) for fit in fits)


def _with_ways(fit: DeviceFit, reached: DeviceFit, fixed: Fixed, registers: tuple[str, ...]) -> DeviceFit:
    """A comparison, with how the fixed model's RAM and flash are reached."""
    target, least, result = fit.flash.target, fixed.least, fixed.result
    change = next((total.percent for total in result.totals if total.target == target), 0.0)
    sizes = [*_sizes(result)]
    if fit.ram and reached.ram:
        if least and not least.written and least.sizes[target] <= (fit.ram.room.ram or 0):
            least = None  # another target has too little room for it
        size = least.sizes[target] if least else reached.ram.bytes
        planned = ["a memory plan"] if result.memory else []
        ways = [*sizes, *(least.ways if least else (*result.added, *planned))]
        if size < fit.ram.bytes and ways:
            fit = fit._replace(ram=fit.ram._replace(exact=ExactWay(size, _as_sentence(ways), change, registers)))
    ways = [*sizes, *result.added]
    if reached.flash.bytes < fit.flash.bytes and ways:
        way = ExactWay(reached.flash.bytes, _as_sentence(ways), change, registers)
        fit = fit._replace(flash=fit.flash._replace(exact=way))
    return fit


def _sizes(result: FixResult) -> Iterator[str]:
    """What a fix does to channels and layers, as clauses behind `with`."""
    for what in ("cut", "padded"):
        count = sum(change.what == what for change in result.classes)
        if count:
            yield f"{count} {'class' if count == 1 else 'classes'} of channels {what}"
    if result.rewrites:
        yield f"{len(result.rewrites)} {'layer' if len(result.rewrites) == 1 else 'layers'} rewritten"


def _as_sentence(clauses: Sequence[str]) -> str:
    *front, last = clauses
    return f"{', '.join(front)} and {last}" if front else last
