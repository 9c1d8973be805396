"""The words every other module shares: levels, targets, kernel calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from functools import cache
from math import prod

from onnxlint_cmsis.ground.named_tuples import NamedTuple

Size = int | None
"""One dimension: a number, or None where the model leaves it symbolic."""
MAX_DIM = 2**31 - 1
"""Largest dimension that is believed: CMSIS-NN's are int32_t."""
MAX_AXES = 32
"""Most axes of a tensor that is followed: what every numpy can broadcast. CMSIS-NN takes four."""


def fits_an_array(shape: Sequence[int]) -> bool:
    """Tell whether numpy takes an array of a shape; the other sizes count too where one is 0."""
    return len(shape) <= MAX_AXES and min(shape, default=0) >= 0 and prod(filter(None, shape)) <= 2**59


InputShapes = Mapping[str, tuple[Size, ...]]
"""Sizes of model inputs by name (`--input-shape`)."""


def packed_bytes(count: int, bits: int) -> int:
    """Return the bytes that elements take side by side, those of less than a byte packed."""
    return (count * bits + 7) // 8


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
    """`gcc`, `clang` or `armclang`; `clang` takes the branches of gcc."""
    compiler_version: str = ""
    """As the user wrote it, `12.2`; empty where it may be any."""
    specialized: bool = True
    """False for a build with NN_DISABLE_SPECIALIZATION, which leaves out kernels of f32 and f16 for single shapes."""
    fused: bool = False
    """True for -ffp-contract=fast: one instruction multiplies and adds, where a floating-point unit computes."""

    @property
    def built_with(self) -> str:
        """The compiler as users write it: `gcc`, `gcc@12.2`."""
        return f"{self.compiler}@{self.compiler_version}" if self.compiler_version else self.compiler

    @property
    def label(self) -> str:
        """Short text for messages: `cortex-m55, CMSIS-NN 7.0.0, gcc`."""
        return f"{self.cpu}, CMSIS-NN {self.release}, {self.built_with}"


class MemoryRoom(NamedTuple):
    """What a device has for a model."""

    ram: int | None = None
    """Bytes of RAM; None where nothing is claimed about it."""
    flash: int | None = None
    """Bytes of flash; None likewise."""
    board: str = ""
    """Board whose figures they are; empty for figures of the user's."""
    stack: int | None = None
    """Bytes of stack that a scratch buffer may take; None where nothing is claimed about it."""


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
        position = f"{self.file}:{self.line}" if self.line else self.file
        return f"CMSIS-NN {self.release} {position} {self.function}"


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


NO_FRONT = Dims(0, 0, 0, 0)
"""What a call that pads nothing, or on the plane alone, has in front."""


class Pair(NamedTuple):
    """Two sizes of the spatial plane (`cmsis_nn_tile`)."""

    h: Size
    """Along the height."""
    w: Size
    """Along the width."""


class Function(str, Enum):
    """What an entry point of CMSIS-NN computes, whatever its types: the first part of its name."""

    CONVOLVE = "convolve"
    DEPTHWISE = "depthwise"
    TRANSPOSE_CONV = "transpose_conv"
    FULLY_CONNECTED = "fully_connected"
    BATCH_MATMUL = "batch_matmul"
    AVERAGE_POOL = "avgpool"
    MAX_POOL = "max_pool"
    ADD = "elementwise_add"
    MUL = "elementwise_mul"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    SOFTMAX = "softmax"
    CONCATENATION = "concatenation"
    RESHAPE = "reshape"
    PAD = "pad"
    TRANSPOSE = "transpose"
    LSTM = "lstm_unidirectional"
    SVDF = "svdf"
    RELU = "relu"
    ACTIVATION = "activation"
    BATCH_NORM = "batch_norm"

    def __str__(self) -> str:
        return self.value

    def entry(self, types: str) -> str:
        """Entry point for types: `softmax_s8_s16` for `s8_s16`."""
        return f"{self}_{types}"


WEIGHTED = (Function.CONVOLVE, Function.DEPTHWISE, Function.TRANSPOSE_CONV, Function.FULLY_CONNECTED)
"""What has weights."""
POINTWISE = (
    *(Function.AVERAGE_POOL, Function.MAX_POOL, Function.ADD, Function.MUL, Function.MAXIMUM, Function.MINIMUM),
)
"""What makes each channel of the same channel of its operands."""


@cache
def entry_parts(entry: str) -> tuple[Function | str, str]:
    """What an entry point computes, and its types: `(Function.SOFTMAX, "s8_s16")` of `softmax_s8_s16`.

    A function of CMSIS-NN that is no Function goes by its name.
    """
    stem, _, types = entry.rpartition("_")
    front, _, first = stem.rpartition("_")
    if first in ("s8", "s16"):
        stem, types = front, f"{first}_{types}"
    return (Function(stem) if stem in _FUNCTIONS else stem), types


_FUNCTIONS = frozenset(Function)


_CALL_VARIABLES = (
    *(f"{group}.{size}" for group in ("input_dims", "filter_dims", "output_dims") for size in "nhwc"),
    *(f"{group}.{size}" for group in ("stride", "padding", "pad_after", "dilation") for size in "hw"),
)
"""Names of the sizes of a call, in order."""


AS_ASKED = -1
"""Scratch of as many bytes as the size function answers."""


class FloatCall(NamedTuple):
    """What a call of a function for f32 or f16 says, beside its sizes."""

    packed: bool = False
    """Whether weights, or the right side of a product, come in blocks (ARM_NN_WEIGHT_FORMAT_NT_N_PACKED)."""
    scratch: int = AS_ASKED
    """Bytes of the buffer that is handed over, AS_ASKED, or 0 for none."""
    clamped: bool = False
    """Whether activation.min and .max leave anything out."""
    activation: int = 0
    """Number of what arm_nn_activation_* computes (arm_nn_activation_type_flt); 0 for other functions."""
    zeros: bool = False
    """Whether its input may hold zeros, as behind a ReLU: a transposed convolution skips them."""
    adj_x: bool = False
    """Whether the left side of a product is stored [length][rows]."""
    adj_y: bool = False
    """Whether the right side is stored [length][columns]; otherwise it is transposed."""
    padding_offset: Pair = Pair(0, 0)
    """padding_offsets of a transposed convolution."""

    def variables(self) -> dict[str, Size]:
        """Every number under the name that conditions give it."""
        return {
            "packed": int(self.packed),
            "clamped": int(self.clamped),
            "activation": self.activation,
            "adj_x": int(self.adj_x),
            "adj_y": int(self.adj_y),
            "padding_offset.h": self.padding_offset.h,
            "padding_offset.w": self.padding_offset.w,
        }


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
    """Filter: convolution [out_c,h,w,in_c/groups], depthwise [1,h,w,out_c], fully connected [depth,1,1,out_c], SVDF
    [rank * out_c,memory,1,in_c]."""
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
    weight_offset: bool = False
    """Whether the weights of a fully connected layer have a zero-point, which the kernel then adds to each."""
    initial_state: bool | None = False
    """Whether an LSTM starts from a state that the model gives, other than zeros; None where that is unknown."""
    time_major: bool = False
    """Whether the first axis of an LSTM's input is the time, and not the batch."""
    permutation: tuple[int, ...] = ()
    """Which axis of the input each axis of a transpose's output is; empty for other entry points, or where unknown."""
    pad_front: Dims = NO_FRONT
    """What a pad (`pad_s8`) adds in front of its input, NHWC; the output's size says what it adds behind."""
    runs: tuple[int, ...] = ()
    """Numbers of each operand of a concatenation that follow each other in the output; empty for other entry points, or
    where unknown."""
    floating: FloatCall | None = None
    """What a call of a function for f32 or f16 says besides; None for other types."""
    int32_bias: bool = False
    """Whether an s16 convolution is told that its bias, or the one that it lacks, is int32 (is_int32_bias)."""

    @property
    def function(self) -> Function | str:
        """What is computed, whatever the types."""
        return entry_parts(self.entry)[0]

    @property
    def types(self) -> str:
        """Types of the entry point: `s8`, `s16`, `s4`, `s8_s16`, `q7`, `q15`, `q7q15`, `f32`, `f16`."""
        return entry_parts(self.entry)[1]

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
            "permutation.axes": len(self.permutation),
            **{f"permutation.{position}": axis for position, axis in enumerate((*self.permutation, *(0,) * 4)[:4])},
            **(self.floating.variables() if self.floating else {}),
            **(
                {f"pad_front.{axis}": size for axis, size in zip("nhwc", self.pad_front, strict=True)}
                if self.floating
                else {}
            ),
        }
