"""The words every other module shares: targets, kernel calls, locations, findings. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from onnxlint_cmsis.named_tuples import NamedTuple

Size = int | None
"""One dimension: a number, or None where the model leaves it symbolic."""
MAX_DIM = 2**31 - 1
"""Largest dimension that is believed: CMSIS-NN's are int32_t."""
InputShapes = Mapping[str, tuple[Size, ...]]
"""Sizes of model inputs by name (`--input-shape`)."""


class Isa(str, Enum):
    """Instruction-set class that CMSIS-NN's source distinguishes."""

    SCALAR = "scalar"
    DSP = "dsp"
    MVE = "mve"


class Level(IntEnum):
    """How bad a finding is; the order is used by --fail-on."""

    NOTE = 1
    WARNING = 2
    ERROR = 3


class Freedom(str, Enum):
    """Whether a channel count may change: FREE, COUPLED or LOCKED."""

    FREE = "FREE"
    COUPLED = "COUPLED"
    LOCKED = "LOCKED"


class Target(NamedTuple):
    """A CPU with one CMSIS-NN release and one compiler."""

    cpu: str
    """CPU name with its suffixes, as the user wrote it: `cortex-m55`, `cortex-m4+nodsp`."""
    isa: Isa
    """Instruction-set class the build will have."""
    release: str
    """CMSIS-NN release: `7.0.0`, `cmsis5-5.9.0`, `main`."""
    compiler: str = "gcc"
    """`gcc` or `armclang`."""

    @property
    def label(self) -> str:
        """Short text for messages: `cortex-m55, CMSIS-NN 7.0.0, gcc`."""
        return f"{self.cpu}, CMSIS-NN {self.release}, {self.compiler}"


PLACEMENTS = ("unknown", "tcm", "sram")
"""Where activations and weights lie on a device: sram has the weights in MRAM."""


class MemoryRoom(NamedTuple):
    """What a device has for a model."""

    ram: int | None = None
    """Bytes of RAM; None where nothing is claimed about it."""
    flash: int | None = None
    """Bytes of flash; None likewise."""
    board: str = ""
    """Board whose figures they are; empty for figures of the user's."""


class Source(NamedTuple):
    """Where in CMSIS-NN's C source a statement about it can be read."""

    release: str
    """Release the line number is for."""
    file: str
    """Path inside the CMSIS-NN repository."""
    function: str
    """C function or macro."""
    line: int
    """First line of the statement; 0 where only the function is recorded."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"CMSIS-NN {self.release} {place} {self.function}"


class Dims(NamedTuple):
    """`cmsis_nn_dims`: n, h, w, c."""

    n: Size
    """Batch; output channels in a convolution filter; depth in a fully connected filter."""
    h: Size
    """Height."""
    w: Size
    """Width."""
    c: Size
    """Channels."""


class Pair(NamedTuple):
    """Two sizes of the spatial plane (`cmsis_nn_tile`)."""

    h: Size
    """Along the height."""
    w: Size
    """Along the width."""


_CALL_VARIABLES = (
    *(f"{group}.{size}" for group in ("input_dims", "filter_dims", "output_dims") for size in "nhwc"),
    *(f"{group}.{size}" for group in ("stride", "padding", "pad_after", "dilation") for size in "hw"),
)
"""Names of the sizes of a call, in order."""


class KernelCall(NamedTuple):
    """One ONNX layer in CMSIS-NN's own terms.

    `variables()` names every number the way the conditions do (`input_dims.c`, `stride.w`, `ch_mult`). Where many calls
    are looked at together that differ in their channel counts, these are arrays of int64 of one length.
    """

    entry: str
    """Entry point without `arm_` and `_wrapper`: `convolve_s8`, `depthwise_s8`, `transpose_conv_s8`, `avgpool_s8`."""
    input_dims: Dims
    """Input, NHWC."""
    filter_dims: Dims
    """Filter: convolution [out_c,h,w,in_c/groups], depthwise [1,h,w,out_c], fully connected [depth,1,1,out_c]."""
    output_dims: Dims
    """Output, NHWC."""
    stride: Pair = Pair(1, 1)
    """Stride."""
    padding: Pair = Pair(0, 0)
    """Padding before (top, left)."""
    pad_after: Pair = Pair(0, 0)
    """Padding after (bottom, right), implied in CMSIS-NN by the output size."""
    dilation: Pair = Pair(1, 1)
    """Dilation."""
    ch_mult: Size = 0
    """Depthwise channel multiplier; 0 where the entry point has none."""
    per_channel: bool | None = None
    """Per-channel weight scales (fully connected); None where the entry point does not ask."""
    bias: bool = True
    """Whether the model has a bias for the layer; without one callers may pass NULL."""
    initial_state: bool | None = False
    """Whether an LSTM starts from a state that the model gives, other than zeros; None where that is unknown."""

    def variables(self) -> dict[str, Size]:
        """Every number of the call under its CMSIS-NN name."""
        images = (*self.input_dims, *self.filter_dims, *self.output_dims)
        pairs = (*self.stride, *self.padding, *self.pad_after, *self.dilation)
        return {
            **dict(zip(_CALL_VARIABLES, (*images, *pairs), strict=True)),
            "ch_mult": self.ch_mult,
            "per_channel": None if self.per_channel is None else int(self.per_channel),
            "bias": int(self.bias),
            "initial_state": None if self.initial_state is None else int(self.initial_state),
        }


class Location(NamedTuple):
    """Where in a model a finding is."""

    path: str
    """File as the user named it."""
    node: str = ""
    """Node name, or `Conv#12` (operator and position) where the model gives none; empty for the whole file."""
    op_type: str = ""
    """ONNX operator."""
    tensor: str = ""
    """Tensor whose dimension the finding speaks of."""
    graph: str = ""
    """Path of enclosing subgraphs or functions; empty for the main graph."""
    offset: int = -1
    """First byte of the node in the file; -1 where unknown."""
    length: int = -1
    """Bytes of the node in the file; -1 where unknown."""


class PythonPlace(NamedTuple):
    """Where in a PyTorch program a node was written."""

    module: str
    """Path of the module: `encoder.0.conv`; empty where unknown."""
    file: str
    """Python file as the exporter names it; empty where unknown."""
    line: int
    """Line in that file, 0 where unknown."""

    @property
    def text(self) -> str:
        """`models.py:46`; empty where unknown."""
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


class Resize(NamedTuple):
    """A channel count within reach of a better kernel, and whether it may change."""

    variable: str
    """CMSIS-NN's name: `input_dims.c`, `ch_mult`."""
    tensor: str
    """Tensor that carries the dimension."""
    axis: int
    """Axis of the tensor."""
    have: int
    """Size now."""
    want: int
    """Nearest size above that satisfies the condition."""
    freedom: Freedom
    """FREE, COUPLED or LOCKED."""
    layers: tuple[str, ...] = ()
    """Layers whose weights decide the size."""
    lock: str = ""
    """Where LOCKED: the node and the reason."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Content:
    """What is said about one place of one model."""

    message: str
    """What is the matter: node, operator, numbers, condition."""
    location: Location
    """Where."""
    targets: tuple[str, ...] = ()
    """Labels of the targets it holds for; empty where it does not depend on a target."""
    resize: Resize | None = None
    """The channel count it asks for, if any."""
    taken: str = ""
    """Kernel that runs now."""
    wanted: str = ""
    """Kernel that would run."""
    sources: tuple[Source, ...] = ()
    """C source the statement rests on."""
    properties: dict[str, str | int | float | bool] = field(default_factory=dict, hash=False)
    """Further facts for JSON and SARIF."""
    cause: str = ""
    """Why, for programs: findings of one rule, level and cause are reported as one. Empty where it stands alone."""
    remedy: str = ""
    """What to do about it, as sentences."""

    @property
    def text(self) -> str:
        """What is the matter and what to do about it."""
        return f"{self.message} {self.remedy}" if self.remedy else self.message


@dataclass(frozen=True, eq=False, repr=False)
class Statement(Content):
    """What a check says; the row of its rule makes a finding of it."""

    level: Level | None = None
    """A milder level than the rule's; None for the rule's."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RuleStamp:
    """The rule that a finding belongs to."""

    code: str
    """Stable code."""
    name: str
    """Kebab name."""
    level: Level
    """note, warning or error."""


@dataclass(frozen=True)
class Finding(Content, RuleStamp):
    """One thing the linter says: a rule, then what it says about one place of one model."""

    others: tuple[Finding, ...] = ()
    """Findings of equal cause at other places, which this one stands for as well."""
    asks: bool = False
    """Whether it asks the reader for something, so that reports for people show it though it is a note."""

    @property
    def locked(self) -> bool:
        """Whether it is about a channel count that may not change."""
        bound = self.resize is not None and self.resize.freedom is Freedom.LOCKED
        return bound or self.properties.get("freedom") == Freedom.LOCKED.value

    @property
    def complete(self) -> str:
        """The text with targets and sources, for readers that show nothing else."""
        brackets = [f"on {targets_text(self.targets)}"] if self.targets else []
        brackets += [str(source) for source in self.sources]
        return f"{self.text} [{'; '.join(brackets)}]" if brackets else self.text


def targets_text(labels: tuple[str, ...]) -> str:
    """Targets with what they share said once: `cortex-m4, cortex-m55 (CMSIS-NN 7.0.0, gcc)`."""
    cpus: dict[str, list[str]] = {}
    for label in labels:
        cpu, _, rest = label.partition(", ")
        cpus.setdefault(rest, []).append(cpu)
    return ", ".join(f"{', '.join(names)} ({rest})" for rest, names in cpus.items())
