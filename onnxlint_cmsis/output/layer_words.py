"""The words for a layer, in the table of `layers` and on the page of `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.ground.types import Size


NO_LAYER = "no layer"
"""Stands for the kernel of an operator that copies bytes at most."""


_MARKS = {
    Outcome.REFERENCE.value: "~",
    Outcome.NO_KERNEL.value: "x",
    Outcome.UNDECIDED.value: "?",
    Outcome.REFUSED.value: "x",
    Outcome.HALTS.value: "x",
    Outcome.WRONG.value: "!",
}


def mark_of(layer: LayerReport) -> str:
    """What stands in front of the layer: what becomes of it, in the runtime where one is judged."""
    if not layer.computes:
        return " "
    verdict = layer.judged.verdict if layer.judged else layer.verdict
    return "!" if layer.hazards else _MARKS.get(verdict.value, " ")


def kernel_of(layer: LayerReport) -> str:
    """The kernel that does the work."""
    if not layer.computes:
        return NO_LAYER
    return layer.verdict.value if layer.operator and mark_of(layer) in ("~", "x") else layer.computed_by


def cost_of(layer: LayerReport) -> str:
    """Predicted instructions; - for what is no layer, `once` for what only the first run computes."""
    if not layer.computes:
        return "-"
    return "once" if layer.once else layer.cost


def error_text(error: float | None) -> str:
    """`0.81 %`, and `0 %` for no error alone."""
    if not error:
        return "" if error is None else "0 %"
    return f"{100 * error:.2g} %" if error < 1 else f"{100 * error:,.0f} %"


def sizes_text(sizes: tuple[Size, ...]) -> str:
    """`48x48x8` without a batch of one; ? for a size that is not known."""
    shown = sizes[1:] if len(sizes) == 4 and sizes[0] == 1 else sizes
    return "x".join("?" if number is None else str(number) for number in shown)


def reason_of(layer: LayerReport) -> str:
    """Why the layer does not simply run in CMSIS-NN; empty where it does."""
    return ((layer.judged and layer.judged.reason) or layer.reason) if mark_of(layer) != " " else ""
