"""The counts that --statistics asks for."""

from __future__ import annotations

from onnxlint_cmsis.output.run_results import Run, by_code, by_level


def statistics_lines(run: Run) -> list[str]:
    """One line for each rule with findings, most first, then one for each level."""
    rows = [(str(number), code, name) for code, name, number in by_code(run.findings)]
    rows += [(str(number), level, "") for level, number in by_level(run.findings)]
    width = max(len(row[0]) for row in rows)
    return [f"{number:>{width}}  {first:<7}  {second}".rstrip() for number, first, second in rows]
