"""What changed since the version before: figures, and layers side by side."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.comparison import ModelDifference
from onnxlint_cmsis.output.comparison_text import cost_text as cost_change
from onnxlint_cmsis.output.comparison_text import figure_rows, kernels_text, layer_name, time_change, verdict_text
from onnxlint_cmsis.output.html.layer_table import COLORS
from onnxlint_cmsis.output.html.report_input import MOST
from onnxlint_cmsis.output.layer_words import kernel_of


class ComparedPage(NamedTuple):
    """What changed since the version before."""

    difference: ModelDifference
    """All of it."""
    figures: tuple[tuple[str, str, str], ...]
    """What each figure counts, its CPUs, both numbers."""
    layers: tuple[ChangedLayer, ...]
    """Layers that changed, at most MOST."""
    left_out: int
    """Changed layers that are not shown."""


class ChangedLayer(NamedTuple):
    """A layer that is new, gone, or has another kernel or cost, on targets where it is the same."""

    name: str
    """Its name; both where the versions have two."""
    cpus: tuple[str, ...]
    """Targets."""
    kernel: str
    """Kernels before and after, once where both are the same; with `new` or `gone` where one version has the layer."""
    cost: str
    """Predicted instructions before and after, and times where they are known."""
    bars: tuple[tuple[str, int, tuple[int, int] | None, int], ...]
    """Title, colour, ends and scale of the bars before and after."""


def compared_page(compared: ModelDifference, colors: Mapping[str, int]) -> ComparedPage:
    """What changed, as the page has it: equal layers of several targets once."""
    sides = [side for changed in compared.layers for side in (changed.before, changed.after) if side]
    longest = max((side.ends[1] for side in sides if side.ends), default=0) or 1
    rows: dict[ChangedLayer, list[str]] = {}
    for changed in compared.layers:
        pair = [("before", changed.before), ("after", changed.after)]
        bars = tuple(
            (f"{when}: {side.cost}", colors.get(kernel_of(side), COLORS), side.ends, longest)
            for when, side in pair
            if side
        )
        time = time_change(changed, "->")
        kernels, cost = kernels_text(changed, "->"), f"{cost_change(changed, '->')}{time and f'; {time}'}"
        row = ChangedLayer(layer_name(changed, compared.names), (), kernels, cost, bars)
        rows.setdefault(row, []).append(cpu_of(changed.target))
    layers = tuple(row._replace(cpus=tuple(cpus)) for row, cpus in rows.items())
    verdicts = (("verdict", ", ".join(pair.targets), verdict_text(pair, "->")) for pair in compared.verdicts)
    numbers = (
        (row.what, row.cpus, row.change)
        for row in figure_rows(compared, lambda name: f"'{compared.names.get(name, name)}'")
    )
    return ComparedPage(compared, (*verdicts, *numbers), layers[:MOST], max(0, len(layers) - MOST))
