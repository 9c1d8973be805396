"""The report for a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from firmware_check.instructions import Instructions, told
from firmware_check.target_check import TargetCheck, added_up
from onnxlint_cmsis.analysis.short_names import WIDEST, cut
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.foreign_text import counted, printable
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from firmware_check.compare import Comparison
    from firmware_check.library import Library
    from firmware_check.link_map import Bytes
    from firmware_check.verdict import Differences, LayerVerdict


COLUMNS = ("layer", "op", "kernel", "status", "scratch", "predicted", "counted", "off", "differ", "verdict")
_ALIKE = {"layer": 12, "kernel": 20}, ("verdict", "off", "status", "scratch", "op")
"""Least widths, and columns to leave out, where every layer agrees: the last line of the report says so of all."""
_APART = {"layer": 8, "kernel": 13}, ("off", "status", "scratch", "op")
PLAIN, AGREES = "reference code", "agrees"
_NAMED = 5
"""Layers that one line names."""
_NUMBERS = ("status", "scratch", "predicted", "counted", "off", "differ")


def report(check: TargetCheck) -> str:
    """One check: a table of layers, what is not as predicted, sizes."""
    rows = [_cells(label, layer, _effective(layer)) for label, layer in _labelled(check)]
    mode = "; each layer alone" if check.per_layer else ""
    remark = f" ({check.board.remark})" if check.board.remark else ""
    parts = [folded(f"{check.path} on {check.label}, {check.board.machine}{remark}{mode}")]
    alike = all(layer_verdict(layer) == AGREES for layer in check.layers)
    fit = _ALIKE if alike else _APART
    parts.append(fitted(COLUMNS, rows, _NUMBERS, TableFit(columns(), *fit)))
    parts += [folded(f"  {printable(line)}") for line in said_of(check)]
    parts.append(_totals(check))
    return "".join(parts)


def library_line(library: Library) -> str:
    """What is proven: the first line of a report."""
    return folded(f"proven here: {library.label}")


def default_lines(checks: Sequence[TargetCheck]) -> list[str]:
    """What the linter says otherwise by default, as it then judges another release."""
    said = [
        f"{check.path} on {check.target.cpu}: {_beside_default(check, check.otherwise)}"
        for check in checks
        if check.otherwise is not None
    ]
    return list(dict.fromkeys(said))


def _beside_default(check: TargetCheck, otherwise: tuple[str, ...]) -> str:
    release = check.target.release
    named = [check.called(label) for label in otherwise]
    said = (
        f"{counted(len(named), 'layer')} of {len(check.layers)} would take another kernel or have other hazards:"
        f" {and_more(named, _NAMED)}"
    )
    said = said if named else "all kernels and hazards are the same"
    return (
        f"in the linter's default, CMSIS-NN {check.default}, {said};"
        f" onnxlint-cmsis --release {release} judges what was proven here, --cmsis-nn DIR proves another release"
    )


def said_of(check: TargetCheck) -> list[str]:
    """What is not as predicted, what is defective, what did not run as usual: one line each."""
    layers = [(check.called(layer.label), layer) for layer in check.layers]
    said = [f"{name}: {fault.code} {fault.text}" for name, layer in layers for fault in layer.disagreements]
    said += [f"{name}: {fault.code} {fault.text}" for name, layer in layers for fault in layer.defects]
    said += [f"{name}: reference code, {layer.reason}" for name, layer in layers if layer.reason]
    said += [f"{name}: {remark}" for name, layer in layers for remark in layer.remarks]
    said += [f"{check.called(label)}: not run, {reason}" for label, reason in check.foreign]
    said += [f"{check.called(label)}: flagged ({hazard}), and did not run" for label, hazard in check.unseen]
    return [*said, *check.remarks]


def layer_verdict(layer: LayerVerdict) -> str:
    """One layer in words."""
    return "DISAGREES" if layer.disagreements else "agrees, defective" if layer.defects else AGREES


def tree(layer: LayerVerdict) -> str:
    """Every function of CMSIS-NN that ran in a layer, callees under their callers."""
    lines = [f"{printable(layer.label)}\n"]
    for traced in layer.observed.tree:
        status = "" if traced.status is None else f", status {traced.status}"
        times = "" if traced.calls == 1 else f" x{traced.calls}"
        lines.append(f"  {'  ' * traced.depth}{traced.name}{times}{status}\n")
    return "".join(lines)


def distinct(labels: Sequence[str]) -> list[str]:
    """Labels short enough for a table; where several would read the same, with the number of the row in front."""
    short = [printable(cut(label, WIDEST)) for label in labels]
    times = Counter(short)
    return [f"{row}: {name}" if times[name] > 1 else name for row, name in enumerate(short)]


def check_rows(check: TargetCheck) -> list[list[str]]:
    """The layers of a check as rows of the table, with whole chains of kernels."""
    return [_cells(label, layer, kernel(layer)) for label, layer in _labelled(check)]


def _labelled(check: TargetCheck) -> Iterator[tuple[str, LayerVerdict]]:
    return zip(distinct([check.called(layer.label) for layer in check.layers]), check.layers, strict=True)


def _cells(label: str, layer: LayerVerdict, ran: str) -> list[str]:
    return [
        label,
        layer.op_type,
        ran,
        str(layer.status),
        f"{sum(layer.scratch):,}",
        told(layer.instructions.predicted),
        f"{layer.instructions.counted:,}",
        off(layer.instructions),
        differing(layer.differences),
        layer_verdict(layer),
    ]


def kernel(layer: LayerVerdict) -> str:
    """The chain of kernels that ran, with the static function that did the work."""
    if not layer.function:
        return PLAIN
    chain = layer.observed.chain
    names = chain if layer.observed.effective in chain else (*chain, layer.observed.effective)
    return " > ".join(name for name in names if name) or "none"


def off(instructions: Instructions) -> str:
    """How far counted instructions are from the predicted number or range; in parentheses where that is not judged."""
    if instructions.predicted is None:
        return "-"
    share = f"{100 * instructions.share:+.1f}%"
    return f"({share})" if instructions.unjudged else share


def differing(differences: Differences | None) -> str:
    """Count and size of the differences from ONNX Runtime."""
    if differences is None:
        return "-"
    if differences.strain is not None:
        return f"{differences.largest:.1g} ({differences.strain:.0%})"
    size = differences.largest if isinstance(differences.largest, int) else f"{differences.largest:.2g}"
    by = f" by {size}" if differences.largest else ""
    return f"{differences.count:,}/{differences.total:,}{by}"


def memory_lines(check: TargetCheck) -> list[str]:
    """Instructions and bytes of one check, measured beside predicted."""
    predicted = check.predicted
    lines = [f"{check.instructions:,} instructions (not cycles) counted in {counted(len(check.layers), 'layer')}"]
    if predicted.layers == len(check.layers):
        lines[0] += f"; {told(predicted.instructions)} predicted"
    elif predicted.layers:
        lines[0] += f"; {predicted.counted:,} of them in {counted(predicted.layers, 'layer')} with a prediction"
        lines[0] += f": {told(predicted.instructions)}"
    if predicted.layers:
        lines[0] += f" ({off(Instructions(predicted.counted, predicted.instructions))})"
    lines[0] += f": {check.instructions_verdict}"
    lines += unjudged_lines(check)
    memory = check.memory
    kinds = (("constants", memory.constants), ("arena", memory.arena), ("scratch", memory.scratch))
    lines.append("; ".join(f"{name} {side_by_side(size)}" for name, size in kinds))
    given = [layer for layer in check.layers if layer.written]
    if check.floating and memory.scratch.measured:
        lines[-1] += f", up to {max((layer.written for layer in given), default=0):,} bytes written"
    if check.sizes:
        ram = check.sizes.ram + memory.scratch.measured
        in_ram = {**memory.ram, "scratch": memory.scratch.measured}
        lines.append(f"flash {check.sizes.flash:,} bytes (from the ELF file): {_listed(memory.flash)}")
        lines.append(f"RAM {ram:,} bytes with scratch, without stack (from the ELF file): {_listed(in_ram)}")
    return lines


def unjudged_lines(check: TargetCheck) -> list[str]:
    """The layers whose instructions are not held against a prediction, a line for each reason."""
    return [
        f"instructions not judged: {and_more([check.called(label) for label in labels], _NAMED)}: {reason}"
        for reason, labels in check.unjudged.items()
    ]


def side_by_side(size: Bytes) -> str:
    """Bytes that there are and that were predicted."""
    return f"{size.measured:,} bytes, {size.predicted:,} predicted ({size.difference:+,})"


def _listed(owners: dict[str, int]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in owners.items())


def sizes_of(before: TargetCheck, after: TargetCheck) -> list[str]:
    """Constants, arena and flash, before and after."""
    sides = before.memory, after.memory
    kinds = {"constants": [side.constants.measured for side in sides], "arena": [side.arena.measured for side in sides]}
    if before.sizes and after.sizes:
        kinds["flash"] = [before.sizes.flash, after.sizes.flash]
    return [f"{name}: {before:,} bytes before, {after:,} after" for name, (before, after) in kinds.items()]


def comparison(compared: Comparison) -> str:
    """Before against after: a table of layers, what changed."""
    before, after = compared.before, compared.after
    rows = [
        [
            label,
            *(_effective(side) for side in (pair.before, pair.after)),
            *(f"{side.instructions.counted:,}" if side else "-" for side in (pair.before, pair.after)),
            f"{pair.gain:,}",
        ]
        for label, pair in zip(distinct(compared.called), compared.pairs, strict=True)
    ]
    head = ("layer", "kernel before", "kernel after", "instructions", "after", "saved")
    fit = TableFit(columns(), {"layer": 8, "kernel before": 19, "kernel after": 19}, ("saved",))
    where = "on the device" if compared.on_device else f"in {compared.before.runtime}"
    lines = [f"instructions (not cycles): {before.instructions:,} before, {after.instructions:,} after"]
    lines += sizes_of(before, after)
    lines += [f"output {n} {where}: {differing(differences)} changed" for n, differences in enumerate(compared.outputs)]
    lines += [f"{fault.code} {printable(fault.text)}" for fault in compared.disagreements]
    lines.append(f"before against after: {compared.verdict}")
    title = folded(f"{before.path} against {after.path} on {before.label}")
    return title + fitted(head, rows, head[3:], fit) + "".join(map(folded, lines))


def _effective(layer: LayerVerdict | None) -> str:
    """The function that did the work."""
    if layer is None:
        return "-"
    return layer.observed.effective if layer.function else PLAIN


def _totals(check: TargetCheck) -> str:
    lines = memory_lines(check)
    lines += [
        f"output {n} differs from {check.runtime}'s in {differing(d)}" for n, d in enumerate(check.output_differences)
    ]
    lines += added_up(check)
    lines.append(f"prediction and observation: {check.verdict}")
    return "".join(map(folded, lines))


def folded(text: str) -> str:
    """One line of text, or several where the terminal is narrower."""
    return wrapped(text, columns()) + "\n"
