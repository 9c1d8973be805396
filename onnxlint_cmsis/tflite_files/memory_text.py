"""The arena of a model as tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import counted
from onnxlint_cmsis.results.short_names import short_names
from onnxlint_cmsis.runtimes.tflm.report_json import operator_number

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.tflm.report_json import MemoryJson

PLAN = ("buffer", "bytes", "first", "last", "offset")
"""Columns of the plan: a buffer lives from its first step to its last; operator k runs in step k + 1."""


def memory_lines(memory: MemoryJson, target: str) -> list[str]:
    """Sums and parts of an arena, without the plan."""
    more = memory["arena_needed"] - memory["arena_used"]
    needed = f" ({counted(more, 'byte')} more while it plans)" if more else ""
    parts = ", ".join(f"{name} {size:,}" for name, size in memory["persistent"].items())
    scratch = (
        ", ".join(f"{operator_number(row['subgraph'], row['op'])}: {row['bytes']:,}" for row in memory["scratch"])
        or "none"
    )
    alive = memory["alive"] or [0]
    peak = alive.index(max(alive))
    least = f"arena at least {memory['arena_used']:,} bytes"
    whole = (
        f"arena_used {memory['arena_used']:,} bytes = head {memory['head']:,} + tail {memory['tail']:,}; "
        f"arena_needed {memory['arena_needed']:,}{needed}"
    )
    return [
        f"{target}: {whole if parts else least}",
        *([f"  tail: {parts}"] if parts else []),
        f"  scratch: {scratch}",
        f"  most alive in step {peak}: {alive[peak]:,} bytes",
    ]


def plan_cells(memory: MemoryJson) -> list[list[str]]:
    """The plan's rows in order of offset."""
    ordered = sorted(memory["plan"], key=lambda row: (row["offset"], row["first"]))
    rows = ((row["name"], row["bytes"], row["first"], row["last"], row["offset"]) for row in ordered)
    names = short_names([row["name"] for row in ordered])
    return [[names.get(name, name), *(f"{number:,}" for number in numbers)] for name, *numbers in rows]
