"""The report for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.layers import shortened
from onnxlint_cmsis.commands.table import aligned

if TYPE_CHECKING:
    from firmware_check.check import Check
    from firmware_check.verdict import Differences, LayerVerdict

COLUMNS = ("layer", "op", "kernel", "status", "scratch", "instructions", "differ", "verdict")
_NUMBERS = ("status", "scratch", "instructions", "differ")


def report(check: Check) -> str:
    """One check: a table of layers, what is not as predicted, sizes."""
    rows = [cells(layer) for layer in check.layers]
    parts = [f"{check.path} on {check.target.label}, {check.board.machine}{_remark(check)}\n"]
    parts.append(aligned(COLUMNS, rows, right=_NUMBERS))
    parts += [f"  {layer.label}: {text}\n" for layer in check.layers for text in layer.disagreements]
    parts += [f"  {layer.label}: plain C, {layer.reason}\n" for layer in check.layers if layer.reason]
    parts += [f"  {label}: not run, {reason}\n" for label, reason in check.foreign]
    parts.append(_totals(check))
    return "".join(parts)


def tree(layer: LayerVerdict) -> str:
    """Every function of CMSIS-NN that ran in a layer, callees under their callers."""
    lines = [f"{shortened(layer.label)}\n"]
    for traced in layer.observed.tree:
        status = "" if traced.status is None else f", status {traced.status}"
        times = "" if traced.calls == 1 else f" x{traced.calls}"
        lines.append(f"  {'  ' * traced.depth}{traced.name}{times}{status}\n")
    return "".join(lines)


def cells(layer: LayerVerdict) -> list[str]:
    """One layer as cells of the table."""
    return [
        shortened(layer.label),
        layer.op_type,
        kernel(layer),
        str(layer.status),
        str(sum(layer.scratch)),
        str(layer.instructions),
        differing(layer.differences),
        "DISAGREES" if layer.disagreements else "agrees",
    ]


def kernel(layer: LayerVerdict) -> str:
    """What ran: the chain of kernels, with the static function that did the work."""
    if not layer.function:
        return "plain C"
    chain = layer.observed.chain
    names = chain if layer.observed.effective in chain else (*chain, layer.observed.effective)
    return " > ".join(name for name in names if name) or "none"


def differing(differences: Differences | None) -> str:
    """Count and size of the differences from ONNX Runtime."""
    if differences is None:
        return "-"
    by = f" by {differences.largest}" if differences.largest else ""
    return f"{differences.count}/{differences.total}{by}"


def _remark(check: Check) -> str:
    mode = "; each layer alone" if check.per_layer else ""
    remark = f" ({check.board.remark})" if check.board.remark else ""
    return f"{remark}{mode}"


def _totals(check: Check) -> str:
    lines = [f"{check.instructions} instructions (not cycles) in {len(check.layers)} layers"]
    lines.append(f"arena {check.arena} bytes, scratch {check.scratch} bytes")
    if check.sizes:
        ram = check.sizes.ram + check.scratch
        lines.append(
            f"flash {check.sizes.flash} bytes, RAM {ram} bytes with scratch, without stack (from the ELF file)"
        )
    for number, differences in enumerate(check.output_differences):
        lines.append(f"output {number} differs from ONNX Runtime's in {differing(differences)}")
    verdict = "agrees" if check.agrees else "DISAGREES"
    return "".join(f"{line}\n" for line in [*lines, f"prediction and observation: {verdict}"])
