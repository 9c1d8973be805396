"""The layers of a model as text: a block for each target, a row for each layer, the totals below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.cli.layer_cells import BAR, MOST_NAMES, layer_cells
from onnxlint_cmsis.cli.layers_host import host_block
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.foreign_text import paint
from onnxlint_cmsis.output.layer_words import NO_LAYER, error_text, mark_of, reason_of
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.tflm_cpp import application_text
from onnxlint_cmsis.output.time_words import saving_text, shares_text
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.output.layers import LayersReport


HEAD = (
    "", "layer", "op", "kernel", "called", "runtime", "input", "output", "MACs", "instructions", "share", "time",
    "error", "scratch", "constants", "fused", "classes", "Q-format", "writes",
)  # fmt: skip
"""Columns in the order they are shown."""


OF_KNOWN = "of known"
"""Head of the column of shares where the cost of a layer is no single number."""


SPARE = (
    "runtime", "Q-format", "output", "called", "MACs", "op", "input", "scratch", "constants", "fused", "classes",
    "writes",
)  # fmt: skip
"""Columns that a narrow terminal leaves out, the last one first."""


ELASTIC = {"layer": 16, "kernel": 25}
"""Columns whose cells are shortened in the middle first, and the least characters of a cell."""


NARROW = 72
"""Columns of a terminal below which bars are left out and cells are shortened further."""


NARROW_ELASTIC = {"layer": 10, "kernel": 17}
"""ELASTIC in such a terminal."""


NUMBERS = ("MACs", "instructions", "time", "error", "scratch", "constants")
"""Columns that are aligned to the right."""


MARKS = {
    "!": "a known error or wrong result (CNN3xx)",
    "~": "reference code of the application computes it (firmware_check/runtime/reference.c has such code)",
    "x": "no kernel: the application has to bring one",
    "?": "not decided",
}
"""What stands in front of a layer that does not simply run in CMSIS-NN."""


RUNTIME_MARKS = {
    "!": "a known error or wrong result (CNN3xx, CNN4xx)",
    "~": "reference code computes it, no CMSIS-NN",
    "x": "the runtime refuses it, stops there, or has no kernel for it",
    "?": "not decided",
}
"""What stands in front of a layer where a runtime is judged."""


STYLES = {"!": "error", "x": "error", "~": "warning", "?": "note"}
"""Styles of lines about layers with a mark."""


BY_COMPILER = "other ranges: versions of gcc make code of different length; --compiler gcc@13.2 names yours"
"""Said where layers have a range since the compiler is open."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False, color: bool = False) -> str:
    """What the model is judged for, its inputs and outputs, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in report.notes)
    ends = "".join(f"{wrapped(_end(tensor, names), width)}\n" for tensor in report.boundary)
    blocks = ["".join(_block(report, total, names, width, color)) for total in report.totals]
    blocks += ["".join(host_block(report.hosts, names, width, color))] if report.hosts else []
    arenas = {total.target: total.arena_to_write for total in report.totals if total.arena_to_write is not None}
    return notes + (ends and f"{ends}\n") + "\n".join(blocks) + application_text(report.resolver, arenas)


def _end(tensor: BoundaryTensor, names: Mapping[str, str]) -> str:
    """An input or output, with its name."""
    return f"{tensor.role} '{names.get(tensor.name, tensor.name)}': {tensor.text}"


def _block(report: LayersReport, total: Total, names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    rows = [layer for layer in report.layers if layer.target == total.target]
    yield paint(total.target, "path", color) + "\n"
    narrow = 0 < width < NARROW
    cells = [layer_cells(row, total, names, bar=0 if narrow else BAR) for row in rows]
    empty = {name for column, name in enumerate(HEAD) if not any(line[column].strip("- ") for line in cells)}
    kept = [column for column, name in enumerate(HEAD) if name not in empty]
    some = any(row.computes and row.instructions is None and not row.once for row in rows)
    head = [OF_KNOWN if some and HEAD[column] == "share" else HEAD[column] for column in kept]
    lines = [[line[column] for column in kept] for line in cells]
    spare = [name for name in SPARE if name not in empty]
    table = fitted(head, lines, NUMBERS, TableFit(width, NARROW_ELASTIC if narrow else ELASTIC, spare))
    titles, *body = table.splitlines()
    yield paint(titles, "faint", color) + "\n"
    for line, row in zip(body, rows, strict=True):
        yield _painted(line, mark_of(row), color) + "\n"
    errors = error_lines({"": report}, names)
    for line in (*_legend(rows, names), *total_lines(total), *errors):
        yield _painted(wrapped(line, width), line[:1], color) + "\n"


def _painted(text: str, mark: str, color: bool) -> str:
    """The text in the style of its layer's mark."""
    return paint(text, STYLES[mark], color) if mark in STYLES else text


def _legend(layers: list[LayerReport], names: Mapping[str, str]) -> Iterator[str]:
    """What the marks that occur mean, which hazards there are, and why no kernel computes a layer."""
    from onnxlint_cmsis.cmsis_nn.library import range_reason

    seen = {mark_of(layer) for layer in layers}
    marks = RUNTIME_MARKS if any(layer.operator or layer.judged for layer in layers) else MARKS
    yield from (f"{mark} {text}" for mark, text in marks.items() if mark in seen)
    if not all(layer.computes for layer in layers):
        yield f"{NO_LAYER}: it copies bytes at most"
    for layer in layers:
        if layer.hazards:
            yield f"  {names.get(layer.node, layer.node)}: {', '.join(layer.hazards)}"
    for layer in layers:
        why = range_reason(layer.computed_by) if layer.instructions_range else ""
        if layer.instructions_range and why:
            least, most = layer.instructions_range
            yield f"  {names.get(layer.node, layer.node)}: {least:,} to {most:,} instructions, {why}"
    if any(layer.by_compiler for layer in layers):
        yield BY_COMPILER
    reasons: dict[str, list[str]] = {}
    for layer in layers:
        before = f"before it runs (CNN306): {layer.before}" if layer.before else ""
        if reason := reason_of(layer) or before:
            reasons.setdefault(reason, []).append(names.get(layer.node, layer.node))
    for reason, nodes in reasons.items():
        yield f"  {and_more(nodes, MOST_NAMES)}: {reason}"
    unknown = {layer.q_format.unknown for layer in layers if layer.q_format} - {""}
    yield from (f"Q-format ?: {reason}" for reason in sorted(unknown))


def total_lines(total: Total) -> Iterator[str]:
    """The sums of a target."""
    every = total.layers + total.unknown_layers
    noun = "layer" if every == 1 else "layers"
    left = f"; the cost of {total.unknown_layers:,} of {every:,} {noun} is unknown" if total.unknown_layers else ""
    macs = "unknown" if total.macs is None else f"{total.macs:,}"
    number = f"{total.instructions:,}"
    if total.instructions_range:
        least, most = total.instructions_range
        number = f"between {least:,} and {most:,}"
    cost = f"{number} predicted instructions (not cycles){left}" if total.cost_known else "cost unknown"
    yield f"total: {every:,} {noun}, {macs} MACs, {cost}"
    arena = "unknown" if total.arena is None else f"at least {total.arena:,}"
    arena = arena if total.arena_to_write is None else f"{total.arena_to_write:,}"
    scratch = "unknown" if total.scratch is None else f"{total.scratch:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {scratch}"
    yield f"{memory}; instructions as measured on {total.measured_on}" if total.cost_known else memory
    if total.time:
        yield f"time: {total.time.text}"
        if shares := shares_text(total.time):
            yield "; ".join(
                filter(None, (f"what takes the time: {shares}", saving_text(total.time, cpu_of(total.target))))
            )


def error_lines(reports: Mapping[str, LayersReport], names: Mapping[str, str]) -> Iterator[str]:
    """What the errors at the outputs are under each type, and how errors were measured; nothing where they were not."""
    first, *_ = reports.values()
    rounded = len({layer.node for layer in first.layers if layer.error is not None})
    noun = "layer" if rounded == 1 else "layers"
    for name in first.output_errors:
        shown = (
            f"{error_text(report.output_errors.get(name)) or 'unknown'}{kind and f' as {kind}'}"
            for kind, report in reports.items()
        )
        yield f"error at output '{names.get(name, name)}' with {rounded} {noun} rounded: {', '.join(shown)}"
    if first.samples:
        noun = "sample" if first.samples == 1 else "samples"
        yield f"error: {ERRORS} ({first.samples:,} {noun}, ONNX Runtime)"


ERRORS = (
    "what rounding a layer's inputs, weights and result changes in the result, as a share of it (root mean squares); "
    "scales from the least and largest value"
)
"""What the column of errors has."""
