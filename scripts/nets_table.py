"""The part of docs/evidence.md on instructions of nets: predicted against counted, from recorded runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from firmware_check.boards import BOARDS

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "net_instructions.json"
HEAD = """
## Do instructions of nets agree?

`lab/measure_nets.py` runs nets with CMSIS-NN 7.0.0 and gcc 12.2 on all boards of the firmware check. A cell has by how
much what was counted in a net is off its prediction, or outside of its range; the same of its worst layer, beside 500
instructions (1,000 on Cortex-M0 and M23); and in parentheses the layers that have no prediction.

"""

Row = dict[str, Any]


def nets_table() -> str:
    """The section."""
    rows: list[Row] = json.loads(FILE.read_text(encoding="utf-8"))
    nets: dict[str, dict[str, Row]] = {}
    for row in rows:
        nets.setdefault(row["net"], {})[row["cpu"]] = row
    cpus = [board.cpu for board in BOARDS]
    heads = " | ".join(cpu.removeprefix("cortex-").upper() for cpu in cpus)
    lines = [f"| percent off | layers | {heads} |", "|---" * (len(cpus) + 2) + "|"]
    for net, ran in nets.items():
        layers = max(row["layers"] for row in ran.values())
        cells = " | ".join(_cell(ran[cpu]) if cpu in ran else "-" for cpu in cpus)
        lines.append(f"| {Path(net).stem.replace('_', ' ')} | {layers} | {cells} |")
    return HEAD + "\n".join(lines) + "\n" + _ends(rows)


def _cell(row: Row) -> str:
    least, most = row["predicted"]
    off = row["counted"] - max(least, min(most, row["counted"]))
    whole = f"{100 * off / max(1, least if off < 0 else most):+.2f}"
    missing = sum(row["not_judged"].values())
    return f"{whole}, {worst_percent(row):.1f}{f' ({missing})' if missing else ''}"


def worst_percent(row: Row) -> float:
    """By how many percent the worst layer of a run is off, beside the instructions that are left out of it."""
    if row["worst"] is None:
        return 0.0
    _, off, base, _, least = row["worst"]
    return 100 * max(0, abs(int(off)) - int(least)) / max(1, int(base))


def _ends(rows: list[Row]) -> str:
    """How many agree, and why layers are not judged."""
    disagreeing = sum(row["disagree"] for row in rows)
    judged = sum(row["layers"] - sum(row["not_judged"].values()) for row in rows)
    reasons: Counter[str] = Counter()
    for row in rows:
        for reason, count in row["not_judged"].items():
            reasons[reason.partition(" on cortex-")[0]] += count
    listed = "".join(f"* {count:,}: {reason}\n" for reason, count in reasons.most_common())
    return (
        f"\nOf {judged:,} runs of layers {disagreeing or 'none'} {'are' if disagreeing != 1 else 'is'} further off than"
        f" [documented](cost.md#how-far-are-they-off). Not judged:\n\n{listed}"
    )
