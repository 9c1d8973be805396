"""TensorFlow Lite Micro's planner takes more arena than a plan in the file would.

The interpreter puts the largest tensor first and each other one into the first gap. A plan in the metadata of a
`.tflite` file (`OfflineMemoryAllocation`) says where each tensor lies. The graph stays as it is, and nothing runs
slower. The rule tells of a plan that takes 1,024 bytes less on some target, and more on none.

**What to do.** `--fix --ram 64K`, or with `--board`, writes the plan. Write it last: whoever adds, removes or resizes a
tensor has to make a new one, since the interpreter takes the offsets as they are. CNN402 tells where they are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.fix_actions import PLAN
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Location, Statement
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN604",
    name="planner-wastes",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="TensorFlow Lite Micro's planner takes more arena than a plan in the file would.",
    docs=__doc__,
    bad=Example(None, name="model.tflite", shown="a chain of sums of 512 to 4,608 bytes"),
    good=Example(None, name="model.tflite", shown="a chain of sums with the memory plan that takes least"),
    action=PLAN,
)
WORTH_IT = 1024
"""Bytes of gain that are told of."""


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Say what a plan gains on each target where that is worth it."""
    gains = [gain for gain in subject.model.execution.plan_gains if gain.gain >= WORTH_IT]
    if not gains:
        return
    told = ", ".join(f"from {gain.now:,} to {gain.then:,} bytes on {gain.target.partition(',')[0]}" for gain in gains)
    most = max(gain.gain for gain in gains)
    text = f"TensorFlow Lite Micro's planner wastes {most:,} bytes: a memory plan in the file takes the arena {told}."
    remedy = "--fix --ram BYTES, or with --board, writes the plan; the graph stays as it is."
    targets = tuple(gain.target for gain in gains)
    yield Statement(text, Location(subject.model.path), targets, remedy=remedy, properties={"gain": most})
