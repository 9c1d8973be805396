"""The part of docs/evidence.md on instructions of nets: what was counted once, against what is predicted today."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from firmware_check.boards import BOARDS
from firmware_check.counted_nets import read_layers
from firmware_check.instructions import DISAGREES, Instructions

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "net_instructions.jsonl.gz"
HEAD = """
## Do instructions of nets agree?

`lab/measure_nets.py` ran nets with CMSIS-NN 7.0.0 and gcc 12.2 on all boards of the firmware check, and this page holds
what it counted in each layer against today's predictions. A cell has by how much a net is off its prediction, or
outside of its range; the same of its worst layer, beside 500 instructions (1,000 on Cortex-M0 and M23); and in
parentheses the layers that have no prediction. Two layers of super resolution need more RAM than the boards of
Cortex-M23, M33 and M55 have, and on M0 the check ends them as too long.

"""

NOT_RUN = {"deeploy_waveformer_1d.onnx": "ONNX Runtime does not have its operators of domain PACTOps"}
"""Nets that were asked for and have no row, with the end of what the check says of them."""

Runs = dict[str, dict[str, list[Instructions]]]


def runs_of_nets() -> Runs:
    """The layers of each net on each CPU that it ran on."""
    nets: Runs = {}
    for layer in read_layers(FILE):
        for cpu in layer.counted:
            nets.setdefault(layer.net, {}).setdefault(cpu, []).append(layer.on(cpu))
    return nets


def nets_table() -> str:
    """The section."""
    nets = runs_of_nets()
    cpus = [board.cpu for board in BOARDS]
    heads = " | ".join(cpu.removeprefix("cortex-").upper() for cpu in cpus)
    lines = [f"| percent off | layers | {heads} |", "|---" * (len(cpus) + 2) + "|"]
    for net, ran in nets.items():
        cells = " | ".join(_cell(ran[cpu]) if cpu in ran else "-" for cpu in cpus)
        lines.append(f"| {Path(net).stem.replace('_', ' ')} | {max(map(len, ran.values()))} | {cells} |")
    return (
        HEAD
        + "\n".join(lines)
        + "\n"
        + _ends([layer for ran in nets.values() for run in ran.values() for layer in run])
    )


def _cell(layers: list[Instructions]) -> str:
    known = [layer for layer in layers if layer.predicted]
    least, most = (sum(layer.predicted[end] for layer in known if layer.predicted) for end in (0, 1))
    whole = Instructions(sum(layer.counted for layer in known), (least, most))
    missing = len(layers) - len(known)
    worst = max((percent_beside_least(layer) for layer in known), default=0.0)
    return f"{100 * whole.share:+.2f}, {worst:.1f}{f' ({missing})' if missing else ''}"


def percent_beside_least(layer: Instructions) -> float:
    """By how many percent a layer is off, beside the instructions that no percentage is asked of."""
    least = layer.documented.least if layer.documented else 0
    return 100 * abs(layer.share) * max(0, abs(layer.off) - least) / max(1, abs(layer.off))


def _ends(layers: list[Instructions]) -> str:
    """How many agree, and why layers are not judged."""
    disagreeing = sum(layer.verdict == DISAGREES for layer in layers)
    judged = sum(not layer.unjudged for layer in layers)
    reasons = Counter(layer.unjudged.partition(" on cortex-")[0] for layer in layers if layer.unjudged)
    listed = "".join(f"* {count:,}: {reason}\n" for reason, count in reasons.most_common())
    absent = "".join(f"* {Path(net).stem.replace('_', ' ')}: {reason}\n" for net, reason in NOT_RUN.items())
    return (
        f"\nNot in the table:\n\n{absent}"
        f"\nOf {judged:,} runs of layers {disagreeing or 'none'} {'are' if disagreeing != 1 else 'is'} further off than"
        f" [documented](cost.md#how-far-are-they-off). Not judged:\n\n{listed}"
    )
