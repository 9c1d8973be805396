"""What a kernel does in Init, Prepare and Eval, written down step by step as its source does it."""

from __future__ import annotations

from enum import Enum
from math import copysign, inf, isfinite, prod
from struct import pack, unpack

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair, packed_bytes
from onnxlint_cmsis.model.windows import halves, padding_for, places, reach, same_places
from onnxlint_cmsis.runtimes.runtime import NOT_REVIEWED, TflmBuild, status_use

# Shapes as CMSIS-NN takes them, and the padding that SAME and VALID give (lite/kernels/padding.h).


NO_FILTER = Dims(None, None, None, None)
"""Filter of a call that has none."""
UNDILATED = Pair(1, 1)


class WindowPadding(NamedTuple):
    """Padding of a window that slides over an image."""

    before: Pair
    """Rows and columns before."""
    after: Pair
    """Rows and columns after."""


def _along(padding: str, size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    if stride <= 0:
        return 0, 0
    span = reach(kernel, dilation)
    outputs = same_places(size, stride) if padding == "SAME" else places(size, span, stride)
    return halves(max(padding_for(outputs, size, span, stride), 0))


def window(padding: str, size: Pair, kernel: Pair, stride: Pair, dilation: Pair = UNDILATED) -> WindowPadding:
    """Padding for an image of `size`; every pair is (height, width) in elements."""
    top, bottom = _along(padding, size.h or 0, kernel.h or 0, stride.h or 0, dilation.h or 0)
    left, right = _along(padding, size.w or 0, kernel.w or 0, stride.w or 0, dilation.w or 0)
    return WindowPadding(Pair(top, left), Pair(bottom, right))


def activation_dims(shape: tuple[int, ...]) -> Dims:
    """A shape as it lies in memory: ones in front, and more than four axes folded into the first."""
    sizes = (1,) * (4 - len(shape)) + shape
    return Dims(prod(sizes[:-3]), *sizes[-3:])


# One operator of a file with its tensors at hand, as a kernel sees it.


BITS = {
    "FLOAT32": 32, "FLOAT16": 16, "INT32": 32, "UINT8": 8, "INT64": 64, "BOOL": 8, "INT16": 16, "COMPLEX64": 64,
    "INT8": 8, "FLOAT64": 64, "COMPLEX128": 128, "UINT64": 64, "UINT32": 32, "UINT16": 16, "INT4": 4, "BFLOAT16": 16,
    "RESOURCE": 32,
}  # fmt: skip
"""Bits of one element; other types have no fixed size (lite/micro/memory_helpers.cc)."""


INTEGER = ("INT8", "INT16")
"""Types of quantized activations."""


def single(value: float) -> float:
    """The nearest number of single precision; the infinite ones stay."""
    if not isfinite(value):
        return value
    try:
        rounded: float = unpack("<f", pack("<f", value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def tensor_bytes(tensor: TfliteTensor) -> int:
    """Bytes of a tensor's values; int4 packs two to a byte."""
    return packed_bytes(prod(tensor.shape), BITS.get(tensor.elem_type, 0))


def quantized(tensor: TfliteTensor) -> bool:
    """Whether the tensor gets a quantization: it needs scales and zero-points (lite/micro/micro_allocator.cc:275)."""
    return tensor.quantization is not None and bool(tensor.quantization.zero_points)


def zero_point(tensor: TfliteTensor) -> int:
    """First zero-point of a tensor, 0 where it has none."""
    return tensor.quantization.zero_points[0] if tensor.quantization and quantized(tensor) else 0


def scale(tensor: TfliteTensor) -> float:
    """First scale of a tensor, 0 where it has none."""
    return tensor.quantization.scales[0] if tensor.quantization and quantized(tensor) else 0.0


class VariableUse(NamedTuple):
    """What an operator does with a resource variable."""

    bytes_: int
    """Bytes of the variable's values; 0 for one that no operator allocates."""
    allocates: bool
    """Whether the operator allocates them while it is prepared."""
    variables: int
    """How many variables the model has."""


class OperatorView(NamedTuple):
    """One operator with its tensors."""

    model: TfliteModel
    """The file."""
    subgraph: Subgraph
    """Subgraph that the operator is in."""
    operator: TfliteOperator
    """The operator."""
    number: int
    """Its number in the subgraph."""
    variable: VariableUse | None = None
    """What it does with a resource variable; None where it names none, or is handed one by another operator."""
    scratch_before: int = 0
    """Scratch requests of the operators before this one."""

    def input(self, position: int) -> TfliteTensor | None:
        """An input, None where it is omitted or not there."""
        inputs = self.operator.inputs
        index = inputs[position] if position < len(inputs) else -1
        return self.subgraph.tensors[index] if index >= 0 else None

    def output(self, position: int = 0) -> TfliteTensor | None:
        """An output, None where there is none."""
        outputs = self.operator.outputs
        return self.subgraph.tensors[outputs[position]] if position < len(outputs) else None

    @property
    def tensors(self) -> list[TfliteTensor]:
        """All that it reads and writes."""
        numbers = (*self.operator.inputs, *self.operator.outputs)
        return [self.subgraph.tensors[number] for number in numbers if number >= 0]

    def constant(self, tensor: TfliteTensor | None) -> bool:
        """Whether the file holds the tensor's values."""
        return tensor is not None and self.model.is_constant(tensor)

    def option(self, name: str, default: int = 0) -> int:
        """A whole number among the options."""
        value = self.operator.options.get(name, default)
        return int(value) if isinstance(value, int) else default

    def text(self, name: str) -> str:
        """An option that is an enumeration, by name; empty where it is missing."""
        value = self.operator.options.get(name, "")
        return value if isinstance(value, str) else ""


# What a kernel does in Init, Prepare and Eval, written down step by step as its source does it.
#
# Lines are those of revision 90b983c2.


WRONG = ("wrong-result", "overrun")
"""Kinds of hazards that spoil the output, or what lies beside it, and return no error."""

K = "tensorflow/lite/micro/kernels/"


class Stage(str, Enum):
    """When something happens: while tensors are allocated, or in each run."""

    PREPARE = "Prepare"
    INVOKE = "Invoke"


class Refused(Exception):  # noqa: N818 - not an error of ours: the kernel says no
    """A kernel returned kTfLiteError: why, when, and the cause of the finding, empty for the usual one."""

    def __init__(self, reason: str, stage: Stage, cause: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        self.cause = cause


class FailedCheck(NamedTuple):
    """A check of a kernel that does not hold, at which a build halts."""

    stage: Stage
    """When."""
    reason: str
    """What is broken, and the line of the source."""
    cause: str = ""
    """Cause of the finding; empty for the usual one."""


class Unpredictable(Exception):  # noqa: N818 - as above
    """What the kernel does is not known: it reads shapes unseen, and this one leads it astray, or nobody read it."""

    def __init__(self, reason: str, cause: str = "unpredictable") -> None:
        super().__init__(reason)
        self.cause = cause
        """Cause of the finding."""


class Preparation:
    """The steps of one operator's kernel, in order."""

    def __init__(self, view: OperatorView, build: TflmBuild) -> None:
        self.view = view
        self.build = build
        self.persistent: list[int] = []
        """Bytes of each persistent request of Prepare."""
        self.scratch: list[int] = []
        """Bytes of each scratch request."""
        self.functions: list[str] = []
        """CMSIS-NN functions that Eval calls; none for reference code."""
        self.chain: tuple[str, ...] = ()
        """Kernels under the main function, in order of delegation."""
        self.call: KernelCall | None = None
        """The main function's call, where it has one with a route."""
        self.failed_checks: list[FailedCheck] = []
        """TFLITE_DCHECKs that do not hold."""
        self.wrong: list[str] = []
        """Why the output will not be what the model says, though no status tells."""
        self.hazards: list[str] = []
        """What is known against the calls of functions."""
        self.dropped: str = ""
        """An error that Eval drops."""
        self.reference: str = ""
        """Why reference code runs."""
        self.wrong_cause: str = ""
        """Cause of the finding on wrong values; empty for the usual one."""
        self.reference_cause: str = ""
        """Cause of the finding on reference code; empty for the usual one."""
        self.fails: Refused | None = None
        """Why Eval returns an error."""
        self.halted: FailedCheck | None = None
        """TFLITE_CHECK that does not hold: it halts every build."""
        self.memory_known = True
        """Whether the requests are all the kernel makes."""
        self.forgotten_bias = False
        """Whether Prepare frees a tensor that it never allocated."""

    def routed(self, call: KernelCall) -> Route:
        """The route of a call on this build's library, for its size functions.

        Raises Unpredictable where the library's kernels are those of no release.
        """
        if call.entry in self.build.unreleased:
            library = self.build.revision.cmsis_nn[:8]
            raise Unpredictable(
                f"the kernels of {call.entry} in CMSIS-NN {library} are those of no release, and were not read",
                NOT_REVIEWED,
            )
        return route(call, self.build.target)

    def runs(self, function: str, call: KernelCall | None = None) -> None:
        """Eval calls a function, but where reference code runs or it returns an error before.

        With a call, its chain and what is known against it are those of the route.
        """
        if self.reference or self.fails:
            return
        self.functions.append(function)
        if call is None:
            self.chain = (function,)
            return
        self.routed(call)
        way = route(call, self.build.kernels_of(call.entry))
        self.call, self.chain = call, (function, *way.chain)
        if way.chain[:1] == (function,):
            self.chain = way.chain
        self.hazards += [hazard.what for hazard in way.hazards if hazard.kind in WRONG]
        if way.status:
            self.dropped = way.hazards[0].what if way.hazards else f"status {way.status}"
            use = status_use(call.entry)
            if use is not None and use.halts:
                self.failed_checks.append(FailedCheck(Stage.INVOKE, f"{self.dropped} ({use.source})"))

    def request(self, size: int | None) -> None:
        """A scratch request, even for no bytes; -1, an absent size function, counts as none."""
        self.scratch.append(max(size or 0, 0))

    def request_positive(self, size: int | None) -> None:
        """A scratch request that is left out where it would be for no bytes."""
        if size and size > 0:
            self.scratch.append(size)


# Variables of TensorFlow Lite Micro that operators name: VAR_HANDLE, ASSIGN_VARIABLE, READ_VARIABLE.
#
# The application creates their table, MicroResourceVariables, and hands it to the interpreter
# (lite/micro/micro_resource_variable.cc). VAR_HANDLE finds its row by container and name. The first ASSIGN_VARIABLE
# that
# is prepared with the handle of a row allocates the variable's values, as many bytes as the value it assigns.


HANDLE, ASSIGN, READ = "VAR_HANDLE", "ASSIGN_VARIABLE", "READ_VARIABLE"


class ResourceVariables(NamedTuple):
    """The variables of a model."""

    variables: int
    """How many VAR_HANDLE creates, by container and name; the application has to make room for as many."""
    uses: dict[tuple[int, int], VariableUse]
    """What operators do with them, by the numbers of the operator's subgraph and of itself there."""


def resource_variables(model: TfliteModel) -> ResourceVariables:
    """The variables as the Prepare of all operators leaves them, subgraph by subgraph in file order."""
    numbers: dict[tuple[str, str], int] = {}
    handles: dict[tuple[int, int], int] = {}
    variables: dict[tuple[int, int], int] = {}
    allocated: dict[int, tuple[tuple[int, int], int]] = {}
    for number, index, operator in model.operators():
        owner = number, index
        if operator.op == HANDLE and operator.outputs:
            name = str(operator.options.get("container", "")), str(operator.options.get("shared_name", ""))
            variables[owner] = handles[number, operator.outputs[0]] = numbers.setdefault(name, len(numbers))
        elif operator.op in (ASSIGN, READ) and operator.inputs and (number, operator.inputs[0]) in handles:
            variables[owner] = handles[number, operator.inputs[0]]
            if operator.op == ASSIGN and len(operator.inputs) > 1 and operator.inputs[1] >= 0:
                value = model.subgraphs[number].tensors[operator.inputs[1]]
                allocated.setdefault(variables[owner], (owner, tensor_bytes(value)))
    uses = {}
    for owner, variable in variables.items():
        by, size = allocated.get(variable, ((-1, -1), 0))
        uses[owner] = VariableUse(size, by == owner, len(numbers))
    return ResourceVariables(len(numbers), uses)


# The highest version of each operator that was known when TensorFlow Lite Micro was reviewed.


_BY_VERSION = {
    1: (
        "ADD_N ASSIGN_VARIABLE BROADCAST_ARGS CALL_ONCE CEIL CUMSUM ELU EXPAND_DIMS FLOOR HARD_SWISH IF L2_POOL_2D "
        "LOGICAL_AND LOGICAL_NOT LOGICAL_OR NEG PRELU READ_VARIABLE REDUCE_ALL RESHAPE ROUND SHAPE SQUARE VAR_HANDLE "
        "WHILE ZEROS_LIKE"
    ),
    2: (
        "COS DEPTH_TO_SPACE DIV EXP FLOOR_MOD GREATER L2_NORMALIZATION LEAKY_RELU LESS_EQUAL LOG LOG_SOFTMAX SELECT_V2 "
        "SIN SPACE_TO_DEPTH SQRT SQUARED_DIFFERENCE SQUEEZE SUM"
    ),
    3: (
        "ARG_MAX ARG_MIN AVERAGE_POOL_2D FLOOR_DIV GREATER_EQUAL LESS LOGISTIC MAX_POOL_2D MEAN MIRROR_PAD REDUCE_MAX "
        "REDUCE_MIN RELU RELU6 RSQRT SPLIT_V TANH"
    ),
    4: (
        "BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_TO MAXIMUM MINIMUM NOT_EQUAL RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR "
        "REVERSE_V2 SOFTMAX SPACE_TO_BATCH_ND SVDF"
    ),
    5: "ABS EMBEDDING_LOOKUP EQUAL FILL PACK SPLIT SUB TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM",
    6: "ADD DYNAMIC_UPDATE_SLICE GATHER_ND PAD PADV2 QUANTIZE UNPACK",
    7: "CONCATENATION DEPTHWISE_CONV_2D",
    8: "CONV_2D GATHER MUL SLICE STRIDED_SLICE",
    9: "CAST DEQUANTIZE TRANSPOSE",
    14: "FULLY_CONNECTED",
}
HIGHEST_VERSION: dict[str, int] = {op: version for version, ops in _BY_VERSION.items() for op in ops.split()}
"""Of the operators that TensorFlow Lite Micro registers: the highest version for which LiteRT 2.3.0 has a kernel, asked
version by version. UNIDIRECTIONAL_SEQUENCE_LSTM has 5 from tensorflow/compiler/mlir/lite/tools/versioning/op_version.cc
(tensorflow 03f49db5). The versions are those of all reviewed revisions whose `.tflite` files are judged.
"""
