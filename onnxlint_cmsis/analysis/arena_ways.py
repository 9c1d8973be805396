"""A model as it is, with a memory plan and with layers in parts: the arena of each and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.fix_results import ModelPrice
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.memory_report import MemoryReport

PLAN = "a memory plan"
"""What a memory plan in the file is called, as a clause behind `with`."""


class ArenaOnTarget(NamedTuple):
    """The arena of a model on one target, and what the model costs there."""

    memory: MemoryReport
    """The arena with all that lies in it."""
    price: ModelPrice
    """Predicted instructions; its arena is that without a plan that is not in the file yet."""

    @property
    def bytes(self) -> int:
        """Size to declare for the arena."""
        return self.memory.arena.to_write if self.memory.arena else 0


class ArenaWay(NamedTuple):
    """One way to lay out a model, which leaves its outputs as they are."""

    ways: tuple[str, ...]
    """Clauses behind `with`; none for the model as it is."""
    targets: tuple[ArenaOnTarget, ...]
    """Those on which the model has an arena."""
    names: Mapping[str, str]
    """Short forms of names in it, for people."""
    registers: tuple[str, ...] = ()
    """What the application registers besides: `AddConcatenation()`."""

    @property
    def text(self) -> str:
        """`with 2 groups of channels in CONV_2D#2..DEPTHWISE_CONV_2D#3 and a memory plan`."""
        return f"with {' and '.join(self.ways)}" if self.ways else "as it is"
