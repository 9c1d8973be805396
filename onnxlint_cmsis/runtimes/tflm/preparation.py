"""What a kernel does in Init, Prepare and Eval, written down step by step as its source does it.

Lines are those of revision 90b983c2.
"""

from __future__ import annotations

from enum import Enum
from struct import pack, unpack

from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect
from onnxlint_cmsis.runtimes.tflm.tflm_build import TflmBuild
from onnxlint_cmsis.types import KernelCall

WRONG = ("wrong-result", "overrun")
"""Kinds of hazards that spoil the output, or what lies beside it, and return no error."""

K = "tensorflow/lite/micro/kernels/"


class Stage(str, Enum):
    """When something happens: while tensors are allocated, or in each run."""

    PREPARE = "Prepare"
    INVOKE = "Invoke"


class Refused(Exception):  # noqa: N818 - not an error of ours: the kernel says no
    """A kernel returned kTfLiteError: why, when, and what it prints, which is the reason itself unless it is given."""

    def __init__(self, reason: str, stage: Stage, printed: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        self.printed = reason if printed is None else printed


class Unpredictable(Exception):  # noqa: N818 - as above
    """The kernel reads shapes without looking at them, and this one leads it astray; the text says what is odd."""


class Preparation:
    """The steps of one operator's kernel, in order."""

    def __init__(self, view: OperatorView, build: TflmBuild, scratch_before: int) -> None:
        self.view = view
        self.build = build
        self.scratch_before = scratch_before
        """Scratch requests of the operators before this one."""
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
        self.failed_checks: list[tuple[Stage, str]] = []
        """TFLITE_DCHECKs that do not hold: the source line of each."""
        self.wrong: list[str] = []
        """Why the output will not be what the model says, though no status tells."""
        self.hazards: list[str] = []
        """What is known against the calls of functions."""
        self.dropped: str = ""
        """An error that Eval meets and does not hand on."""
        self.reference: str = ""
        """Why reference code runs."""
        self.fails: Refused | None = None
        """Why Eval returns an error."""
        self.halted: tuple[Stage, str] | None = None
        """TFLITE_CHECK that does not hold: it halts every build."""
        self.memory_known = True
        """Whether the requests are all the kernel makes."""
        self.forgotten_bias = False
        """Whether Prepare frees a tensor that it never allocated."""

    def ensure(self, holds: bool, place: str, condition: str, reason: str = "") -> None:
        """TF_LITE_ENSURE at `place`, a file and line under K; `reason` says the condition in words."""
        if not holds:
            printed = f"{K}{place} {condition} was not true."
            raise Refused(f"{reason} (micro/kernels/{place})" if reason else printed, Stage.PREPARE, printed)

    def ensure_equal(self, left: int, right: int, place: str, names: tuple[str, str]) -> None:
        """TF_LITE_ENSURE_EQ of two whole numbers."""
        if left != right:
            raise Refused(f"{K}{place} {names[0]} != {names[1]} ({left} != {right})", Stage.PREPARE)

    def ensure_types(self, left: TfliteTensor, right: TfliteTensor, place: str, names: tuple[str, str]) -> None:
        """TF_LITE_ENSURE_EQ or TF_LITE_ENSURE_TYPES_EQ of two element types."""
        if left.elem_type != right.elem_type:
            found = f"({left.elem_type} != {right.elem_type})"
            raise Refused(f"{K}{place} {names[0]} != {names[1]} {found}", Stage.PREPARE)

    def ensure_equal_doubles(self, left: float, right: float, place: str, names: tuple[str, str]) -> None:
        """TF_LITE_ENSURE_EQ of two doubles, which prints the two halves of the first as whole numbers."""
        if left != right:
            low, high = unpack("<ii", pack("<d", left))
            raise Refused(f"{K}{place} {names[0]} != {names[1]} ({low} != {high})", Stage.PREPARE)

    def ensure_near(self, value: float, wanted: float, tolerance: float, place: str, names: tuple[str, str]) -> None:
        """TF_LITE_ENSURE_NEAR."""
        if abs(value - wanted) > tolerance:
            found = f"({value:f} != {wanted:f})"
            raise Refused(f"{K}{place} {names[0]} not near {names[1]} {found}", Stage.PREPARE)

    def ensure_message(self, holds: bool, file: str, message: str) -> None:
        """TF_LITE_ENSURE_MSG."""
        if not holds:
            raise Refused(f"{K}{file} {message}", Stage.PREPARE)

    def check(self, holds: bool, place: str, stage: Stage = Stage.PREPARE) -> None:
        """TFLITE_DCHECK: halts a build with checks, does nothing in one without."""
        if not holds:
            self.failed_checks.append((stage, f"{K}{place}"))

    def needed_input(self, position: int, place: str, name: str) -> TfliteTensor:
        """An input that the kernel insists on."""
        tensor = self.view.input(position)
        if tensor is None:
            raise Refused(f"{K}{place} {name} != nullptr was not true.", Stage.PREPARE)
        return tensor

    def needed_output(self, place: str) -> TfliteTensor:
        """The output that the kernel insists on."""
        tensor = self.view.output()
        if tensor is None:
            raise Refused(f"{K}{place} output != nullptr was not true.", Stage.PREPARE)
        return tensor

    def has(self, defect: TflmDefect) -> bool:
        """Whether the revision still has a defect."""
        return defect in self.build.revision.defects

    def predictable(self, *images: TfliteTensor) -> None:
        """Stop where a kernel would read sizes that are not there: ranks other than 4, sizes or strides below 1."""
        for tensor in images:
            if len(tensor.shape) != 4 or min(tensor.shape) < 1:
                raise Unpredictable(f"shape {list(tensor.shape)} where four sizes of at least 1 are expected")
        for name in ("stride_h", "stride_w"):
            if self.view.option(name) < 1:
                raise Unpredictable(f"{name} is {self.view.option(name)}; at least 1 is allowed")

    def routed(self, call: KernelCall) -> Route:
        """The route of a call on this build's library, for its size functions."""
        return route(call, self.build.target)

    def runs(self, function: str, call: KernelCall | None = None) -> None:
        """Eval calls a function; with a call, its chain and what is known against it are those of the route."""
        self.functions.append(function)
        if call is None:
            self.chain = (function,)
            return
        found = route(call, self.build.kernels_of(call.entry))
        self.call, self.chain = call, (function, *found.chain)
        if found.chain[:1] == (function,):
            self.chain = found.chain
        self.hazards += [hazard.what for hazard in found.hazards if hazard.kind in WRONG]
        if found.status:
            self.dropped = found.hazards[0].what if found.hazards else f"status {found.status}"

    def request(self, size: int | None) -> None:
        """A scratch request, even for no bytes; -1, an absent size function, counts as none."""
        self.scratch.append(max(size or 0, 0))

    def request_positive(self, size: int | None) -> None:
        """A scratch request that is left out where it would be for no bytes."""
        if size and size > 0:
            self.scratch.append(size)
