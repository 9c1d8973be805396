"""The report as Markdown, for a job summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.reports.text import (
    COLUMNS,
    check_rows,
    default_lines,
    differing,
    kernel,
    memory_lines,
    said_of,
    sizes_of,
)
from firmware_check.target_check import Failure, TargetCheck, added_up
from onnxlint_cmsis.output.foreign_text import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.compare import Comparison, LayerPair
    from firmware_check.library import Library


def check_report(check: TargetCheck) -> str:
    """One check as a section with a table."""
    verdict = _bold(check.verdict)
    lines = [f"### {markdown(check.path)} on {check.label} ({check.board.machine}): {verdict}", ""]
    lines += _table(COLUMNS, check_rows(check))
    lines += [f"* {markdown(line)}" for line in said_of(check)]
    lines += ["", *(f"* {markdown(line)}" for line in (*memory_lines(check), *added_up(check))), ""]
    return "\n".join(lines) + "\n"


def library_report(library: Library) -> str:
    """What is proven."""
    return f"Proven here: {markdown(library.label)}\n"


def default_report(checks: Sequence[TargetCheck]) -> str:
    """What the linter says otherwise by default."""
    return "".join(f"* {markdown(line)}\n" for line in default_lines(checks))


def _bold(verdict: str) -> str:
    """Words that ask for a look in bold."""
    return verdict if verdict in ("agrees", "repaired") else f"**{verdict.lower()}**"


def failure_report(failure: Failure) -> str:
    """A target that the check could not run on."""
    return f"### {failure.where}: could not run\n\n* {markdown(failure.reason)}\n"


def comparison_report(comparison: Comparison) -> str:
    """Before against after as a section with a table."""
    before, after = comparison.before, comparison.after
    verdict = _bold(comparison.verdict)
    lines = [f"### {markdown(before.path)} against {markdown(after.path)} on {before.label}: {verdict}", ""]
    lines += _table(
        ("layer", "kernel before", "kernel after", "instructions before", "after", "saved"),
        [_row(name, pair) for name, pair in zip(comparison.called, comparison.pairs, strict=True)],
    )
    where = "on the device" if comparison.on_device else f"in {comparison.before.runtime}"
    lines.append(f"* instructions (not cycles): {before.instructions:,} before, {after.instructions:,} after")
    lines += [f"* {line}" for line in sizes_of(before, after)]
    lines += [
        f"* output {n} {where}: {differing(differences)} changed" for n, differences in enumerate(comparison.outputs)
    ]
    lines += [f"* {fault.code} {markdown(fault.text)}" for fault in comparison.disagreements]
    return "\n".join(lines) + "\n"


def _row(name: str, pair: LayerPair) -> list[str]:
    sides = [
        (kernel(side), f"{side.instructions.counted:,}") if side else ("-", "-") for side in (pair.before, pair.after)
    ]
    return [name, sides[0][0], sides[1][0], sides[0][1], sides[1][1], f"{pair.gain:,}"]


def _table(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return [*head, *(f"| {' | '.join(markdown(cell) for cell in row)} |" for row in rows), ""]
