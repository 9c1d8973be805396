"""The data types that a float model may become, side by side: a table for each target, a column for each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.cli.layer_cells import MOST_NAMES
from onnxlint_cmsis.cli.layers_text import MARKS, STYLES, error_lines
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.output.foreign_text import paint
from onnxlint_cmsis.output.layer_words import cost_of, error_text, kernel_of, mark_of
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.output.layers import LayersReport


UNCHANGED = "--assume changes nothing here: no layer of the model depends on it"
"""Said of a model whose types are all decided."""


CONVERSIONS = (
    "CMSIS-NN converts between s8 and s16 in no function but arm_softmax_s8_s16: where layers of both meet, the "
    "application converts, or QUANTIZE of TensorFlow Lite Micro, which is reference code"
)
"""Said where s16 stands beside another type."""


def side_by_side_text(
    reports: Mapping[str, LayersReport], width: int, *, full_names: bool = False, color: bool = False
) -> str:
    """The predicted instructions of each layer, and the sums, under each of the types that `reports` is by."""
    first, *_ = reports.values()
    names = {} if full_names else first.names
    differ = any(report.layers != first.layers for report in reports.values())
    notes = first.notes if differ else (*first.notes, UNCHANGED)
    head = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in notes)
    blocks = (_side_by_side(reports, number, names, width, color) for number in range(len(first.totals)))
    return head + "\n".join("".join(block) for block in blocks)


def _side_by_side(
    reports: Mapping[str, LayersReport], number: int, names: Mapping[str, str], width: int, color: bool
) -> Iterator[str]:
    totals = [report.totals[number] for report in reports.values()]
    sides = [_by_place(report, total.target) for report, total in zip(reports.values(), totals, strict=True)]
    rows = []
    for key in dict.fromkeys(chain(*sides)):
        layer = next(side[key] for side in sides if key in side)
        if layer.computes:
            cells = [_type_cell(side.get(key)) for side in sides]
            errors = [error_text(side[key].error) if key in side else "" for side in sides]
            rows.append([names.get(layer.node, layer.node), layer.op, *_compared(cells), *errors])
    for name, numbers, comparable in _sums(totals):
        texts = ["unknown" if number is None else f"{number:,}" for number in numbers]
        rows.append([name, "", *_compared(list(zip(texts, comparable, strict=True))), *("" for _ in sides)])
    labels = dict.fromkeys(total.target for total in totals)
    yield paint(next(iter(labels)) if len(labels) == 1 else cpu_of(totals[0].target), "path", color) + "\n"
    first, *others = reports
    changes = [f"{kind}/{first}" for kind in others]
    heads = [first, *chain(*zip(others, changes, strict=True)), *(f"{kind} error" for kind in reports)]
    if not reports[first].samples:
        heads, rows = heads[: -len(sides)], [row[: -len(sides)] for row in rows]
    fit = TableFit(width, {"layer": 16}, (*changes, "op"))
    titles, *body = fitted(("layer", "op", *heads), rows, heads, fit).splitlines()
    yield paint(titles, "faint", color) + "\n"
    broken = [any(cell.startswith("! ") for cell in row[2:]) for row in rows]
    for line, is_broken in zip(body, broken, strict=True):
        yield paint(line, STYLES["!"], color and is_broken) + "\n"
    if any(broken):
        yield wrapped(f"! {MARKS['!']}", width) + "\n"
    measured = ", ".join(dict.fromkeys(total.measured_on for total in totals if total.cost_known))
    where = f", as measured on {measured}" if measured else ""
    yield wrapped(f"predicted instructions (not cycles){where}; constants, arena and scratch in bytes", width) + "\n"
    yield from (wrapped(line, width) + "\n" for line in error_lines(reports, names))
    by_type = dict(zip(reports, sides, strict=True))
    constants = {kind: total.constants for kind, total in zip(reports, totals, strict=True)}
    for kind in (kind for kind in reports if kind in FLOAT.types and constants.get("s8")):
        pairs = [(by_type[kind].get(key), by_type["s8"].get(key)) for key in dict.fromkeys(chain(*sides))]
        called = f"{kind} packed" if reports[kind].packed else kind
        line = _float_line(called, pairs, constants[kind] / constants["s8"], names)
        yield f"{wrapped(line, width)}\n" if line else ""
    if "s16" in reports and len(reports) > 1:
        yield wrapped(CONVERSIONS, width) + "\n"
    libraries: dict[str, list[str]] = {}
    for kind, total in zip(reports, totals, strict=True):
        libraries.setdefault(total.target.partition(", ")[2], []).append(kind)
    if len(libraries) > 1:
        judged = (f"{', '.join(kinds)} for {library}" for library, kinds in libraries.items())
        yield wrapped(f"judged: {'; '.join(judged)}", width) + "\n"
    for kind, total in zip(reports, totals, strict=True):
        if total.time:
            yield wrapped(f"time as {kind}: {total.time.text}", width) + "\n"


def _sums(totals: Sequence[Total]) -> Iterator[tuple[str, Sequence[int | None], Sequence[int | None]]]:
    """What is added up, the numbers of all types, and those of them that may be compared: no layer is left out."""
    ends = [total.instructions_range or (total.instructions, total.instructions) for total in totals]
    whole = [None if total.unknown_layers else end for end, total in zip(ends, totals, strict=True)]
    least = [end and end[0] for end in whole]
    exact = all(end and end[0] == end[1] for end in whole)
    shown = [end[0] if total.cost_known else None for end, total in zip(ends, totals, strict=True)]
    yield "total" if exact else "total, at least", shown, least
    if not exact and any(whole):
        yield "total, at most", *([end and end[1] for end in whole],) * 2
    yield "constants", *([total.constants for total in totals],) * 2
    written = any(total.arena_to_write is not None for total in totals)
    arena = [total.arena_to_write if written else total.arena for total in totals]
    yield "arena" if written else "arena, at least", arena, arena
    yield "scratch", *([total.scratch for total in totals],) * 2


def _float_line(
    kind: str, pairs: Sequence[tuple[LayerReport | None, LayerReport | None]], flash: float, names: Mapping[str, str]
) -> str:
    """What layers cost as a type that stays float, beside s8; empty where that is unknown or the ranges overlap.

    `pairs` has each layer as this type and as s8, None where it is not there. Layers of unknown cost that multiply
    nothing are left out and named.
    """
    ends = [[_ends(layer) for layer in pair] for pair in pairs]
    aside = [next(filter(None, pair)) for pair, both in zip(pairs, ends, strict=True) if None in both]
    known = [(mine, other) for mine, other in ends if mine and other]
    least, most, low, high = (sum(pair[side][end] for pair in known) for side in (0, 1) for end in (0, 1))
    if not low or (least <= high and low <= most) or len(aside) > MOST_NAMES or any(layer.macs for layer in aside):
        return ""
    percents = sorted({abs(round(100 * (least / high - 1))), abs(round(100 * (most / low - 1)))})
    apart = f"{', '.join(names.get(layer.node, layer.node) for layer in aside)} aside, " if aside else ""
    times = "twice" if f"{flash:.1f}" == "2.0" else f"{flash:.1f} times"
    change = f"{' to '.join(map(str, percents))} % {'less' if most < low else 'more'}"
    return f"{apart}{kind} costs {change} than s8 here and {times} the flash"


def _ends(layer: LayerReport | None) -> tuple[int, int] | None:
    """Least and most predicted instructions of a layer, 0 of one that is not there; None where they are unknown."""
    if layer is None or layer.instructions is not None:
        return (layer.instructions or 0 if layer else 0,) * 2
    return layer.instructions_range


def _by_place(report: LayersReport, target: str) -> dict[tuple[str, int], LayerReport]:
    """The layers of a target by name; those of one name are told apart by their order."""
    rows: dict[tuple[str, int], LayerReport] = {}
    for row in report.layers:
        if row.target == target:
            rows[row.node, next(n for n in range(len(report.layers)) if (row.node, n) not in rows)] = row
    return rows


def _type_cell(layer: LayerReport | None) -> tuple[str, int | None]:
    """What a layer costs as one type, or who computes it where no kernel does; and the number."""
    if layer is None:
        return "not there", None
    mark = mark_of(layer)
    if mark in ("~", "x", "?"):
        return kernel_of(layer), None
    return f"! {cost_of(layer)}" if mark == "!" else cost_of(layer), layer.instructions


def _compared(cells: list[tuple[str, int | None]]) -> list[str]:
    """The texts, each from the second on with the change against the first where both numbers are known."""
    (first, base), *others = cells
    changes = (f"{100 * (n - base) / base:+.1f} %" if base and n is not None else "" for _, n in others)
    return [first, *chain(*zip((text for text, _ in others), changes, strict=True))]
