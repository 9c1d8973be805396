"""What stands on the page, as plain records: text is not escaped yet."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple

MOST = 600
"""Layers, buffers and classes that one drawing shows: more make the page slow."""


class Mark(NamedTuple):
    """Something to look at in a layer."""

    kind: str
    """`hazard`, `plain`, `refused`, `undecided` or `missed`: a class of the style sheet."""
    text: str
    """The same in words."""


class LayerLine(NamedTuple):
    """One layer on one target."""

    name: str
    """Short name."""
    full_name: str
    """Name in the file; of an operator of a `.tflite` file that of the tensor it writes."""
    op: str
    """Operator."""
    kernel: str
    """Kernel that does the work; empty where CMSIS-NN does not compute the layer, which a mark says."""
    color: int
    """Number of the kernel's colour."""
    instructions: int | None
    """Predicted instructions (not cycles), None where there is no one number."""
    cost: str
    """The same as text: a number, a range, or `unknown`."""
    share: float
    """Part of all known instructions of the target, 0 to 1."""
    length: float
    """Part of the longest layer's instructions, 0 to 1."""
    marks: tuple[Mark, ...]
    """What to look at."""
    reason: str
    """Why CMSIS-NN does not compute it; empty where it does."""


class KernelShare(NamedTuple):
    """All layers that one kernel computes on a target."""

    kernel: str
    """Kernel."""
    color: int
    """Number of its colour."""
    layers: int
    """How many layers."""
    instructions: int
    """Their predicted instructions."""
    share: float
    """Part of all, 0 to 1."""


class Fact(NamedTuple):
    """One figure of the summary."""

    label: str
    """What it is."""
    value: str
    """The figure."""
    note: str = ""
    """What else to know about it."""


class DrawnBuffer(NamedTuple):
    """One place in the arena over a time."""

    name: str
    """Short name of the tensor."""
    layer: str
    """Short name of the layer that writes it; empty for an input of the model."""
    bytes: int
    """Its size."""
    first: int
    """First step in which it is alive; 0 is the host in front of the first layer."""
    last: int
    """Last step."""
    offset: int
    """Bytes from the arena's start."""
    at_peak: bool
    """Whether it is alive in the step with the most bytes."""


class MemoryMap(NamedTuple):
    """The arena over time on one target."""

    buffers: tuple[DrawnBuffer, ...]
    """What lies in it."""
    steps: int
    """Steps with the one of the host."""
    bytes: int
    """Size of the planned part."""
    peak_step: int
    """First step with the most bytes alive."""
    peak_bytes: int
    """Bytes alive there."""
    peak_layer: str
    """Layer that runs there; empty where the file does not tell."""
    missing: str = ""
    """Why there is no map; empty where there is."""


class TargetSection(NamedTuple):
    """One target of the page."""

    label: str
    """CPU, release and compiler."""
    facts: tuple[Fact, ...]
    """Figures of the summary."""
    kernels: tuple[KernelShare, ...]
    """Kernels, the one with the most instructions first."""
    layers: tuple[LayerLine, ...]
    """Layers in file order, at most MOST."""
    left_out: int
    """Layers that are not shown."""
    memory: MemoryMap
    """Arena over time."""


class FindingBlock(NamedTuple):
    """A finding as the page tells it."""

    code: str
    """Code of the rule."""
    rule: str
    """Name of the rule."""
    level: str
    """`error`, `warning` or `note`."""
    message: str
    """What is the matter."""
    remedy: str
    """What to do; may be empty."""
    details: tuple[Fact, ...]
    """Targets, kernels, sources, reasons."""
