"""What came of fixing a file, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.findings import targets_text
from onnxlint_cmsis.ground.words import NAMED
from onnxlint_cmsis.output.foreign_text import counted, paint, printable
from onnxlint_cmsis.output.shown_names import listed, with_short_names
from onnxlint_cmsis.output.wrapping import labelled, wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import (
        ClassChange,
        FixResult,
        LayerChange,
        MemoryChange,
        Rewrite,
        TargetTotal,
        TensorChange,
    )
    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.output.run_results import Run


UNIT = "predicted instructions (not cycles)"


def fix_lines(file: FileResult, run: Run) -> Iterator[str]:
    """The lines about one file's fix; a single one where nothing changed."""
    fix = file.fix
    if fix is None or (run.quiet and not fix.changed and not fix.failed):
        return
    if not fix.changed:
        line = wrapped(f"{file.path}: {'not fixed' if fix.failed else 'left as it is'}: {fix.reason}", run.width)
        details = [] if run.quiet else [*(("note", text) for text in fix.notes), *_kept(fix)]
    else:
        line = wrapped(f"{file.path}: {'fixed' if fix.written else 'would be fixed'} (policy {fix.policy})", 0)
        details = [*_details(fix, every=run.diff)]
    path = printable(file.path)
    yield paint(path, "path", run.color) + line.removeprefix(path) if line.startswith(path) else line
    for label, text in details:
        yield labelled(label, with_short_names(text, file, run), run)


def fix_heads(file: FileResult, run: Run) -> list[str]:
    """The first line about a file's fix, with its notes and without colour; none where no fix was asked for."""
    notes = "".join(f"; {printable(note)}" for note in file.fix.notes) if file.fix else ""
    return [f"{line}{notes}" for line in list(fix_lines(file, run._replace(color=False, quiet=False)))[:1]]


def fix_summary(run: Run) -> str:
    """How many files were fixed, or would be; empty where no fix was asked for."""
    asked = [file.fix for file in run.files if file.fix]
    if not asked:
        return ""
    changed = sum(fix.changed for fix in asked)
    return f"{changed} of {counted(len(asked), 'file')} {'would be fixed' if run.diff else 'fixed'}"


def _details(fix: FixResult, *, every: bool) -> Iterator[tuple[str, str]]:
    """(label, text) of each line under a fix, of every layer and constant too where that is asked for."""
    from onnxlint_cmsis.analysis.price_text import whole_price
    from onnxlint_cmsis.output.proofs import change_text, proof_text

    for change in fix.classes:
        yield "class", _class(change)
    yield from (("adds", text) for text in fix.added)
    yield from (("rewrites", line) for line in _rewrites(fix))
    for layer in fix.layers if every else ():
        yield from _layer(layer, fix)
    yield from (("tensor", line) for line in (_tensors(fix.tensors) if every else ()))
    yield from (("repairs", line) for line in _repairs(fix))
    for total in fix.totals:
        yield "total", _total(total)
    for price in fix.prices:
        yield "price", f"{cpu_of(price.target)}, all that runs: {whole_price(price)}"
    yield from (("memory", _memory(change)) for change in fix.memory)
    yield "MACs", _change_text(fix.macs.before, fix.macs.after)
    old, new = (sum(getattr(tensor, name) for tensor in fix.tensors) for name in ("old_bytes", "new_bytes"))
    yield "stored", f"{counted(len(fix.tensors), 'constant')} changed, {_change_text(old, new)} bytes"
    yield "file", f"{_change_text(fix.bytes.before, fix.bytes.after)} bytes"
    yield from (("changes", change_text(value)) for value in fix.changes)
    if fix.proof:
        yield "proof", proof_text(fix.proof, beside_changes=bool(fix.changes))
    yield from (("note", text) for text in fix.notes)
    yield from _kept(fix)


def _kept(fix: FixResult) -> Iterator[tuple[str, str]]:
    """(label, text) of each class that stays: all that would change, and the LOCKED ones with most to gain."""
    for stays in fix.left:
        yield "left", f"{stays.have} -> {stays.want} not done: {stays.reason}: {listed(stays.layers)}"
    kinds: dict[tuple[str, str], list[str]] = {}
    for skipped in fix.unrewritten:
        kinds.setdefault((skipped.repair, skipped.reason), []).append(skipped.layer)
    for (repair, reason), layers in kinds.items():
        yield "left", f"{repair} not done: {reason}: {listed(tuple(layers))}"
    for locked in fix.locked[:NAMED]:
        gain = (
            f"{locked.size} -> {locked.want} would save {locked.gain:,} {UNIT}"
            if locked.gain > 0
            else f"{locked.size} channels stay"
        )
        yield "locked", f"{gain}; LOCKED by {locked.reason}: {listed(locked.layers)}"


def _repairs(fix: FixResult) -> Iterator[str]:
    """A line for each kind of hazard on the same targets, with its layers."""
    targets: dict[tuple[str, str, str], list[str]] = {}
    for repair in fix.repairs:
        targets.setdefault((repair.hazard, repair.layer, repair.what), []).append(repair.target)
    layers: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for (hazard, layer, what), labels in targets.items():
        layers.setdefault((hazard, tuple(labels), what), []).append(layer)
    for (hazard, labels_there, what), names in layers.items():
        yield f"{hazard} of {listed(tuple(names))} on {targets_text(labels_there)}: {what}"


def _rewrites(fix: FixResult) -> Iterator[str]:
    """A line for each kind of rewriting: the layers, what becomes of them, and the price where it is known."""
    kinds: dict[tuple[str, str], list[Rewrite]] = {}
    for rewrite in fix.rewrites:
        kinds.setdefault((rewrite.repair, rewrite.what), []).append(rewrite)
    for (repair, what), rows in kinds.items():
        names = listed(tuple(rewrite.layer for rewrite in rows))
        who = f"{names} {what}" if len(rows) == 1 else f"{names}: each {what}"
        yield f"{who} ({repair}{_price(rows, fix)})"


def _price(rows: list[Rewrite], fix: FixResult) -> str:
    """`; cortex-m4 120 -> 140 predicted instructions`, for the targets where all are known."""
    words = []
    for position, total in enumerate(fix.totals):
        had = [rewrite.instructions[position] for rewrite in rows]
        has = [rewrite.new_instructions[position] for rewrite in rows]
        if None not in (*had, *has) and had != has:
            numbers = f"{sum(cost or 0 for cost in had):,} -> {sum(cost or 0 for cost in has):,}"
            words.append(f"{total.target.partition(', ')[0]} {numbers}")
    return f"; {', '.join(words)} predicted instructions" if words else ""


def _class(change: ClassChange) -> str:
    """`6 -> 8 padded, FREE: made by conv1; read by conv2`."""
    dead = [(change.constants, "constant"), (change.unread, "unread")]
    words = ", ".join(f"{number} {word}" for number, word in dead if number)
    why = f" ({words} of {change.have})" if words and change.want < change.have else ""
    ends = [("made by", change.deciders), ("read by", change.readers)]
    layers = "; ".join(f"{verb} {listed(names)}" for verb, names in ends if names)
    return f"{change.have} -> {change.want} {change.what}{why}, {change.freedom}: {layers}"


def _layer(layer: LayerChange, fix: FixResult) -> Iterator[tuple[str, str]]:
    """The layer's channels, then a line for each target."""
    yield "layer", f"'{layer.label}': {_size_change(layer.channels)} -> {_size_change(layer.new_channels)}"
    rows = zip(layer.instructions, layer.new_instructions, layer.kernels, layer.new_kernels, strict=True)
    for total, (had, has, kernel, after) in zip(fix.totals, rows, strict=True):
        cost = "cost unknown" if had is None or has is None else f"{_change_text(had, has)} predicted instructions"
        route = kernel if kernel == after else f"{kernel} -> {after}"
        yield "", f"{total.target.partition(', ')[0]}: {cost}, {route}"


def _size_change(pair: tuple[int | None, int | None]) -> str:
    inputs, outputs = ("?" if count is None else count for count in pair)
    return f"{inputs} in, {outputs} out"


def _tensors(tensors: tuple[TensorChange, ...]) -> Iterator[str]:
    """A line for each constant; many that are new or gone share one."""
    replaced = [tensor for tensor in tensors if None in (tensor.old_shape, tensor.new_shape)]
    together = len(replaced) > NAMED
    yield from (
        _tensor(tensor) for tensor in tensors if not together or None not in (tensor.old_shape, tensor.new_shape)
    )
    if together:
        gone = sum(tensor.new_shape is None for tensor in replaced)
        old, new = (sum(getattr(tensor, name) for tensor in replaced) for name in ("old_bytes", "new_bytes"))
        names = listed(tuple(tensor.tensor for tensor in replaced))
        yield f"{gone} constants go and {len(replaced) - gone} are new, {old:,} -> {new:,} bytes: {names}"


def _tensor(tensor: TensorChange) -> str:
    shapes = [
        "none" if shape is None else f"[{','.join(map(str, shape))}]" for shape in (tensor.old_shape, tensor.new_shape)
    ]
    return f"'{tensor.tensor}': {' -> '.join(shapes)}, {tensor.old_bytes:,} -> {tensor.new_bytes:,} bytes"


def _memory(change: MemoryChange) -> str:
    """`cortex-m4: arena with a memory plan 100,720 -> 82,288 bytes (...), the least that a plan can`."""
    used = change.head + change.tail
    rest = ", the least that a plan can" if used == change.least else f"; no plan gets below {change.least:,}"
    numbers = f"{_change_text(change.before, change.after)} bytes (head {change.head:,} + tail {change.tail:,})"
    return f"{cpu_of(change.target)}: arena with a memory plan {numbers}{rest}"


def _total(total: TargetTotal) -> str:
    text = f"{total.target}: {_change_text(total.instructions, total.new_instructions)} {UNIT}"
    if not total.target.startswith(total.measured_on):
        text += f", as on {total.measured_on}"
    if total.promised:
        text += f"; the findings said {total.promised:+,}"
    if total.rewrites:
        text += f"; rewriting layers changes it by {total.rewrites:+,}"
    if total.repair_price:
        text += f"; stepping around hazards alone costs {total.repair_price:+,}"
    if not total.unknown:
        return text
    names = f": {listed(total.unknown_layers)}" if total.unknown_layers else ""
    text += f"; {counted(total.unknown, 'layer')} of unknown cost not counted{names}"
    return f"{text}; those known after take {total.became_known:,}" if total.became_known else text


def _change_text(before: int, after: int) -> str:
    change = f" ({100 * (after - before) / before:+.1f} %)" if before else ""
    return f"{before:,} -> {after:,}{change}"
