"""The arena of a model on one target, as `memory` tells it."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class BufferLife(NamedTuple):
    """One planned buffer."""

    name: str
    """Its tensor, or `scratch of CONV_2D#3`."""
    node: str
    """Label of the layer that writes it first; empty where none does."""
    bytes: int
    """Its size."""
    first: int
    """First step that needs it: step 0 is the host before the first layer."""
    last: int
    """Last step that needs it."""
    offset: int
    """First byte in the arena."""


class LayerScratch(NamedTuple):
    """One request of a layer for scratch."""

    subgraph: int
    """Subgraph of the layer."""
    op: int
    """Its number there; of an ONNX model its step."""
    node: str
    """Its label."""
    bytes: int
    """Size of the request."""


class Arena(NamedTuple):
    """An arena, all in bytes."""

    head: int
    """Planned activations and scratch."""
    tail: int
    """What stays."""
    needed: int
    """What has to be given, which can be more than is used while it is planned."""
    to_write: int
    """The size to declare: what has to be given with the alignment that the runtime asks for."""
    persistent: Mapping[str, int]
    """The tail by category; nothing for a plan without one."""
    scratch: tuple[LayerScratch, ...]
    """What layers ask for; it lies beside the plan of an ONNX model."""
    plan: tuple[BufferLife, ...]
    """Every planned buffer."""
    alive: tuple[int, ...]
    """What is alive in each step, from step 0."""
    steps: tuple[str, ...]
    """Operator and name of the layer of each step, from step 1; none where control flow decides."""
    basis: str = ""
    """What the figures are where the runtime lays nothing out; empty where it does."""

    @property
    def used(self) -> int:
        """What is taken once all is planned."""
        return self.head + self.tail

    @property
    def peak(self) -> int:
        """The first step with the most bytes alive."""
        return self.alive.index(max(self.alive)) if self.alive else 0


class PlanGain(NamedTuple):
    """What a memory plan that a file could bring along gains on one target."""

    target: str
    """Label of the target."""
    now: int
    """Bytes to write for the arena without it."""
    then: int
    """Bytes to write with it."""

    @property
    def gain(self) -> int:
        """Bytes that it takes less."""
        return self.now - self.then


class MethodMemory(NamedTuple):
    """What ExecuTorch takes of its method allocator when it loads a method, beside the arena."""

    bytes: int | None = None
    """Bytes on a core of 32 bits, from a start that is a multiple of 8; None where that is not known."""
    temporary: int = 0
    """Least size of the temporary allocator; with a smaller one more is taken."""
    reason: str = ""
    """Why it is not known, as a clause."""


class MemoryReport(NamedTuple):
    """The arena of a model on one target, or why there is none."""

    target: str
    """Label of the target."""
    status: str = "ok"
    """Status of `TflmReport`; `ok` for an ONNX model."""
    message: str = ""
    """What the firmware prints."""
    reason: str = ""
    """Why there is no arena, as a clause."""
    arena: Arena | None = None
    """The arena."""
    plan: str = ""
    """What comes of the memory plan that the file brings along, as a sentence; empty where it brings none."""
    method: MethodMemory | None = None
    """What lies beside the arena of an ExecuTorch program; None for other files."""
