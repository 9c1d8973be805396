"""Before and after, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.comparison.comparison_text import WORDS, cost_of_row, kernel_text, layer_name
from onnxlint_cmsis.comparison.difference import difference
from onnxlint_cmsis.html_report.compared_records import ChangedLayer, ComparedPage, FigurePair
from onnxlint_cmsis.html_report.finding_blocks import finding_blocks
from onnxlint_cmsis.html_report.page_records import MOST, Fact

if TYPE_CHECKING:
    from onnxlint_cmsis.comparison.difference import Figure, LayerDifference, ModelDifference, TimePair
    from onnxlint_cmsis.html_report.page_records import TargetSection
    from onnxlint_cmsis.html_report.report_input import ReportInput
    from onnxlint_cmsis.layer_rows import Row


def compared_page(
    before: ReportInput, after: ReportInput, old: tuple[TargetSection, ...], new: tuple[TargetSection, ...]
) -> ComparedPage:
    """What changed, and both versions of each target's section."""
    found = difference(before.version, after.version)
    return ComparedPage(
        found.before,
        found.after,
        (*(_figure(each) for each in found.figures if not each.before == each.after == 0), *map(_time, found.times)),
        finding_blocks(found.came, found.names),
        finding_blocks(found.went, found.names),
        found.stayed,
        tuple(_layer(each, found) for each in found.layers[:MOST]),
        max(0, len(found.layers) - MOST),
        _pairs(old, new),
    )


def _pairs(
    old: tuple[TargetSection, ...], new: tuple[TargetSection, ...]
) -> tuple[tuple[TargetSection | None, TargetSection | None], ...]:
    before, after = ({section.label: section for section in sections} for sections in (old, new))
    return tuple(_on_one_scale(before.get(label), after.get(label)) for label in dict.fromkeys((*after, *before)))


def _on_one_scale(
    before: TargetSection | None, after: TargetSection | None
) -> tuple[TargetSection | None, TargetSection | None]:
    """Both with bars as long as their part of the longest layer of both."""
    lines = [line for section in (before, after) if section for line in section.layers]
    longest = max((line.instructions or 0 for line in lines), default=0) or 1
    old, new = (section and _scaled(section, longest) for section in (before, after))
    return old, new


def _scaled(section: TargetSection, longest: int) -> TargetSection:
    lines = (line._replace(length=(line.instructions or 0) / longest) for line in section.layers)
    return section._replace(layers=tuple(lines))


def _figure(figure: Figure) -> FigurePair:
    where = f" on {figure.target.partition(', ')[0]}" if figure.target else ""
    before, after = ("unknown" if number is None else f"{number:,}" for number in (figure.before, figure.after))
    change = figure.change or 0
    part = f" ({100 * change / figure.before:+.1f} %)" if figure.before else ""
    trend = "less" if change < 0 else "more" if change > 0 else "same"
    return FigurePair(f"{WORDS[figure.metric]}{where}", before, after, f"{change:+,}{part}" if change else "", trend)


def _time(pair: TimePair) -> FigurePair:
    before, after = ("unknown" if each is None else each.range for each in (pair.before, pair.after))
    return FigurePair(f"time on {pair.target.partition(', ')[0]}", before, after, "", "same")


def _layer(each: LayerDifference, found: ModelDifference) -> ChangedLayer:
    name = layer_name(each, found.names)
    return ChangedLayer(name, each.target.partition(", ")[0], _side(each.before), _side(each.after))


def _side(row: Row | None) -> Fact:
    """Kernel and cost of a layer; one that is not there has neither."""
    if row is None:
        return Fact("not there", "")
    return Fact(kernel_text(row), cost_of_row(row))
