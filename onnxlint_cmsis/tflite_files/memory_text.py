"""The arena of a model as tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.runtimes.tflm.report_json import MemoryJson

PLAN = ("buffer", "layer", "bytes", "first", "last", "offset")
"""Columns of the plan: the layer writes the buffer, which lives from its first step to its last."""


def memory_lines(memory: MemoryJson, target: str, names: Mapping[str, str]) -> list[str]:
    """Sums and parts of an arena, without the plan; `names` are short forms."""
    more = memory["arena_needed"] - memory["arena_used"]
    needed = f" ({counted(more, 'byte')} more while it plans)" if more else ""
    parts = ", ".join(f"{name} {size:,}" for name, size in memory["persistent"].items())
    scratch = ", ".join(f"{names.get(row['node'], row['node'])}: {row['bytes']:,}" for row in memory["scratch"])
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
        f"  scratch: {scratch or 'none'}",
        f"  most alive in step {peak}: {alive[peak]:,} bytes",
    ]


def plan_cells(memory: MemoryJson, names: Mapping[str, str]) -> list[list[str]]:
    """The plan's rows in order of offset; `names` are short forms."""
    ordered = sorted(memory["plan"], key=lambda row: (row["offset"], row["first"]))
    return [
        [
            *(names.get(name, name) for name in (row["name"], row["node"])),
            *(f"{number:,}" for number in (row["bytes"], row["first"], row["last"], row["offset"])),
        ]
        for row in ordered
    ]
