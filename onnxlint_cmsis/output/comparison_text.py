"""A difference as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.comparison import METRICS, Figure, LayerDifference, ModelDifference, TimePair, VerdictPair
from onnxlint_cmsis.output.foreign_text import counted, paint
from onnxlint_cmsis.output.shown_names import in_short
from onnxlint_cmsis.output.wrapping import wrapped

WORDS = {
    "findings": "findings",
    "instructions": "predicted instructions (not cycles)",
    "most_instructions": "predicted instructions at most",
    "macs": "MACs",
    "flash": "bytes of flash beside code",
    "arena": "bytes of activations, at least",
    "scratch": "bytes of scratch",
    "unknown_layers": "layers of unknown cost",
}
"""What each figure counts."""
EXCEEDED = "more than --fail-on-increase allows"
"""Behind a figure that grew too much."""
EXACT_ARENA = "bytes of arena"
"""What the arena counts where it is known to the byte."""


class FigureRow(NamedTuple):
    """A figure on some CPUs."""

    what: str
    """What it counts."""
    cpus: str
    """The CPUs; empty where it holds for all of several, or does not depend on one."""
    change: str
    """Both numbers, or the one that both versions have."""
    figures: tuple[Figure, ...]
    """The figures that it shows; none for a time."""


def comparison_text(difference: ModelDifference, over: tuple[Figure, ...], width: int, *, color: bool = False) -> str:
    """Figures, findings and layers, each line no wider than `width`; 0 for any width."""
    title = (f"{difference.before} -> {difference.after}", *library_lines(difference))
    verdicts = [f"  {verdict_text(pair, '->')} on {', '.join(pair.targets)}" for pair in difference.verdicts]
    figures, findings = _text_figures(difference, over), _text_findings(difference)
    outputs = [f"  outputs: {in_short(difference.outputs.text, difference.names)}"] if difference.outputs else []
    registers = [f"  {difference.registering}"] if difference.registers else []
    lines = [*title, *verdicts, *outputs, *registers, *figures, *findings, *_text_layers(difference)]
    return "".join(_painted(wrapped(line, width), color) + "\n" for line in lines)


def _painted(text: str, color: bool) -> str:
    """New findings and what grew too much in the colour of errors and warnings, findings that went in that of good."""
    came = text.startswith("  + ")
    if " ".join(text.split()).endswith(EXCEEDED) or (came and " error " in text):
        return paint(text, "error", color)
    if came:
        return paint(text, "warning" if " warning " in text else "note", color)
    return paint(text, "good", color) if text.startswith("  - ") else text


def library_lines(difference: ModelDifference) -> Iterator[str]:
    """Which library each version is judged for, where these are two."""
    old, new = difference.libraries
    if old and new and old != new:
        yield f"judged for two libraries, whose numbers differ by themselves: {old} -> {new}"


def word(difference: ModelDifference, figure: Figure) -> str:
    """What a figure counts."""
    if figure.metric == "arena" and difference.arena_exact:
        return EXACT_ARENA
    return WORDS["instructions" if figure.ranges else figure.metric]


def change_text(figure: Figure) -> str:
    """`1,000 -> 1,100 (+10.0 %)`."""
    if figure.before is figure.after is None:
        return "unknown"
    if figure.before is None or figure.after is None:
        return _one_unknown(figure.before, figure.after)
    if figure.ranges:
        return _ranges_text(figure)
    if figure.before == figure.after:
        return f"{figure.after:,}"
    part = f" ({100 * (figure.after - figure.before) / figure.before:+.1f} %)" if figure.before else ""
    return f"{figure.before:,} -> {figure.after:,}{part}"


def _ranges_text(figure: Figure) -> str:
    """`45,484 -> 52,938 to 54,184 (the most +19.1 %)`; one range where both are the same."""
    both = dict.fromkeys(f"{least:,} to {most:,}" if least < most else f"{most:,}" for least, most in figure.ranges)
    (_, before), (_, after) = figure.ranges
    part = f" (the most {100 * (after - before) / before:+.1f} %)" if before and len(both) > 1 else ""
    return f"{' -> '.join(both)}{part}"


def _one_unknown(before: int | None, after: int | None) -> str:
    return " -> ".join("unknown" if number is None else f"{number:,}" for number in (before, after))


def left_out_text(figure: Figure, called: Callable[[str], str]) -> str:
    """`; left out, with a cost that is known in one version alone: 'conv' (unknown -> 1,595)`; empty for no layer."""
    if not figure.left_out:
        return ""
    rows = [f"{called(layer.layer)} ({_one_unknown(layer.before, layer.after)})" for layer in figure.left_out]
    return f"; left out, with a cost that is known in one version alone: {and_more(rows)}"


def verdict_text(pair: VerdictPair, arrow: str) -> str:
    """`WRONG RESULTS -> RUNS`; `RUNS before and after` where both are the same."""
    return f"{pair.before} before and after" if pair.before == pair.after else f"{pair.before} {arrow} {pair.after}"


def time_text(pair: TimePair) -> str:
    """`predicted 10 to 12 ms -> predicted 9 to 11 ms at 120 MHz (...)`; once where both are the same."""
    shown = dict.fromkeys("unknown" if time is None else time.range for time in (pair.before, pair.after))
    told = next((time for time in (pair.after, pair.before) if time is not None and time.milliseconds), None)
    return " ".join(filter(None, (" -> ".join(shown), told.basis if told else "")))


def kernels_text(changed: LayerDifference, arrow: str) -> str:
    """Kernels before and after, once where both are the same; `new, arm_avgpool_s8` where one version has the layer."""
    kernels = [layer.computed_by for layer in (changed.before, changed.after) if layer]
    news = "" if changed.before and changed.after else "gone, " if changed.before else "new, "
    return news + f" {arrow} ".join(dict.fromkeys(kernels))


def cost_text(changed: LayerDifference, arrow: str) -> str:
    """Predicted instructions before and after, once where both are the same; MACs where these alone changed."""
    sides = [layer for layer in (changed.before, changed.after) if layer]
    costs = dict.fromkeys(layer.cost for layer in sides)
    macs = dict.fromkeys(f"{layer.macs or 0:,}" for layer in sides)
    moved = f" ({f' {arrow} '.join(macs)} MACs)" if len(costs) == 1 and len(macs) > 1 else ""
    return f"{f' {arrow} '.join(costs)}{moved}"


def time_change(changed: LayerDifference, arrow: str) -> str:
    """Predicted times before and after, once where both are the same; empty where neither is known."""
    times = dict.fromkeys(
        layer.time.amount if layer.time else "unknown" for layer in (changed.before, changed.after) if layer
    )
    return "" if {*times} == {"unknown"} else f" {arrow} ".join(times)


def changed_layers(difference: ModelDifference) -> str:
    """`3 layers changed`, each counted once however many targets see it."""
    return f"{counted(len({changed.layer for changed in difference.layers}), 'layer')} changed"


def finding_text(difference: ModelDifference, finding: Finding) -> str:
    """What a finding says, with the CPUs where it does not hold on all."""
    cpus = [label.partition(", ")[0] for label in finding.targets]
    cpus_of_all = {figure.target.partition(", ")[0] for figure in difference.figures if figure.target}
    there = f" [on {', '.join(cpus)}]" if cpus and set(cpus) < cpus_of_all else ""
    return f"{in_short(finding.text, difference.names)}{there}"


def layer_name(changed: LayerDifference, names: Mapping[str, str]) -> str:
    """What findings call the layer; both names where the versions have two: `CONV_2D#3 (CONV_2D#2 before)`."""
    before, after = (names.get(row.node, row.node) if row else "" for row in (changed.before, changed.after))
    return f"{after} ({before} before)" if before and after and before != after else after or before


def figure_rows(difference: ModelDifference, called: Callable[[str], str]) -> Iterator[FigureRow]:
    """Figure by figure, equal ones of several CPUs once; then the times. `called` shows a layer's name."""
    cpus = dict.fromkeys(cpu_of(figure.target) for figure in difference.figures if figure.target)
    rows: dict[tuple[str, str], list[Figure]] = {}
    in_ranges = {figure.target: figure for figure in difference.figures if figure.ranges}
    for figure in sorted(difference.figures, key=lambda figure: METRICS.index(figure.metric)):
        if not figure.before == figure.after == 0:
            shown = in_ranges.get(figure.target, figure) if figure.metric == "instructions" else figure
            change = f"{change_text(shown)}{left_out_text(shown, called)}"
            rows.setdefault((word(difference, shown), change), []).append(figure)
    for (what, change), figures in rows.items():
        on = tuple(dict.fromkeys(cpu_of(figure.target) for figure in figures if figure.target))
        yield FigureRow(what, "" if len(on) == len(cpus) > 1 else ", ".join(on), change, tuple(figures))
    for pair in difference.times:
        yield FigureRow("time", cpu_of(pair.target), time_text(pair), ())


def _text_figures(difference: ModelDifference, over: tuple[Figure, ...]) -> Iterator[str]:
    for row in figure_rows(difference, lambda name: f"'{difference.names.get(name, name)}'"):
        mark = f": {EXCEEDED}" if any(figure in over for figure in row.figures) else ""
        yield f"  {row.what}{f' on {row.cpus}' if row.cpus else ''}: {row.change}{mark}"


def _text_findings(difference: ModelDifference) -> Iterator[str]:
    yield f"{_number(difference.went)} gone, {_number(difference.came)} new, {difference.stayed} as before"
    yield from (_finding("+", finding, difference) for finding in difference.came)
    yield from (_finding("-", finding, difference) for finding in difference.went)


def _number(findings: tuple[Finding, ...]) -> str:
    return counted(sum(1 + len(finding.others) for finding in findings), "finding")


def _finding(sign: str, finding: Finding, difference: ModelDifference) -> str:
    return f"  {sign} {finding.selector} {finding.level.name.lower()} {finding_text(difference, finding)}"


def _text_layers(difference: ModelDifference) -> Iterator[str]:
    if difference.layers:
        yield changed_layers(difference)
    for changed in difference.layers:
        where = f"{layer_name(changed, difference.names)} on {cpu_of(changed.target)}"
        time = time_change(changed, "->")
        cost = f"predicted instructions {cost_text(changed, '->')}{time and f'; predicted {time}'}"
        yield f"  {where}: {kernels_text(changed, '->')}; {cost}"
