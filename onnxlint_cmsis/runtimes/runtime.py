"""Runtimes that call CMSIS-NN: the revision and library of each, and the words for what it does with a layer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from math import ceil, prod
from typing import TYPE_CHECKING, Literal, Protocol

from onnxlint_cmsis.cmsis_nn.library import MOST_INSTRUCTIONS
from onnxlint_cmsis.formats.format import RELEASES, Format, format_read_by
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.findings import Effect, Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import POINTWISE, Function, Isa, KernelCall, Level, Pair, Size, Target, entry_parts
from onnxlint_cmsis.ground.words import and_more, did_you_mean, quoted
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.find_quantization import of_input, of_result
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.operands import activations_of, operands_of
from onnxlint_cmsis.lower.stored_types import quantizes
from onnxlint_cmsis.lower.work import macs_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.model.windows import halves, reach, same_padding
from onnxlint_cmsis.runtimes.tflm.revisions import TflmRevision, reviewed_revision

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.tflm.resolver import Resolver

# Runtimes that call CMSIS-NN: which revision, and which CMSIS-NN it brings.


AUTO = "auto"
"""Word for the usual runtime of a file's format."""


class Runtime(NamedTuple):
    """One revision of one runtime, or the application that calls the functions itself."""

    name: str
    """`direct`, `tflm`, `executorch` or `tvm`; `auto` until the file is known."""
    title: str = ""
    """Name in messages."""
    commit: str = ""
    """Last commit that was reviewed; empty for `direct`."""
    since: str = ""
    """Day from which it holds, ISO 8601."""
    until: str = ""
    """Day on which the runtime gave CMSIS-NN up; empty where it did not."""
    cmsis_nn: str = ""
    """CMSIS-NN that its build downloads, by commit or release; empty for none."""
    release: str = ""
    """Release whose rows answer for that library; empty for none."""
    older: tuple[tuple[str, str], ...] = ()
    """Entry points with the kernels of an older release, and that release."""
    ran: bool = True
    """Whether its kernels were run; False where its source was read alone, so that findings say "may"."""
    unread: bool = False
    """Whether its kernels and its CMSIS-NN were not read: those of the revision that was read answer for them."""
    unreleased: tuple[str, ...] = ()
    """Entry points whose kernels in the library it brings are those of no release, and are not judged."""
    brings: bool = True
    """False where the user names another CMSIS-NN release than the one it brings."""
    asked: str = ""
    """Label of the runtime that was asked for, where a file is judged for this one in its place."""
    by_file: bool = False
    """Whether a file that only other revisions run decides on the revision, as none was asked for."""

    @property
    def judges(self) -> bool:
        """Whether a runtime stands between the model and CMSIS-NN."""
        return self.name not in (DIRECT.name, AUTO)

    @property
    def label(self) -> str:
        """`tflm@90b983c2`, or the name alone."""
        return f"{self.name}@{self.commit[:8]}" if self.commit else self.name

    @property
    def behind(self) -> dict[str, list[str]]:
        """Entry points that do not have the kernels of its release, by the release that they have."""
        entries: dict[str, list[str]] = {}
        for entry, release in (*self.older, *((entry, "no release") for entry in self.unreleased)):
            entries.setdefault(release, []).append(entry)
        return entries

    def library(self, entry: str, target: Target) -> Target:
        """Target whose kernels an entry point has: the library it brings may be behind the release in some."""
        older = dict(self.older).get(entry)
        return target._replace(release=older) if older and self.brings and target.release == self.release else target


DIRECT = Runtime("direct")
"""The application calls the functions as their wrappers want."""
_TRANSPOSE_CONV_BEHIND = (("transpose_conv_s8", "7.0.0"),)
"""What libraries before CMSIS-NN's pull request 233 are behind `main` in (git diff of Source and Include)."""

EXECUTORCH = Runtime(
    "executorch",
    "ExecuTorch",
    "cff6f4dd",
    RELEASES["cff6f4dd"],
    cmsis_nn="dbf45dbf",
    release="main",
    older=_TRANSPOSE_CONV_BEHIND,
    ran=False,
)
TVM = Runtime(
    "tvm",
    "TVM",
    "513c2be0",
    "2024-10-12",
    until="2024-12-10",
    cmsis_nn="CMSIS_5 5.9.0",
    release="cmsis5-5.9.0",
    ran=False,
)
"""The parent of f717c565, which removed the CMSIS-NN partitioner; TVM 0.18.0 is the last release that has it."""
EXECUTORCH_RELEASES = {
    name: row._replace(since=RELEASES[name])
    for name, row in {
        "1.6.0": EXECUTORCH._replace(commit="1.6.0", cmsis_nn="8.0.0", older=(), unread=True),
        "1.5.1": EXECUTORCH._replace(commit="3b606839", cmsis_nn="8.0.0", older=(), unread=True),
        "1.4.1": EXECUTORCH._replace(commit="e4d02f41"),
        "1.4.0": EXECUTORCH._replace(commit="3dd7ccd1"),
        "1.3.1": EXECUTORCH._replace(commit="e2f18eb2", cmsis_nn="d933672e"),
        "1.3.0": EXECUTORCH._replace(commit="3a97429b", cmsis_nn="d933672e"),
        "1.2.0": EXECUTORCH._replace(commit="0b0e2c5c", cmsis_nn="7.0.0", release="7.0.0", older=()),
        "1.1.0": EXECUTORCH._replace(commit="17adba19", cmsis_nn="7.0.0", release="7.0.0", older=()),
        "1.0.1": EXECUTORCH._replace(commit="7b220c6f", cmsis_nn="4.1.0", release="4.1.0", older=()),
    }.items()
}
"""Releases that were compared with that revision: operators, passes and quantizer of each, and the pin of CMSIS-NN.

What kernels look at and hand over is in executorch/kernels.py, release by release. CMSIS-NN d933672e differs from
dbf45dbf in functions for f32 and f16, in the LSTM, and in single rounding, which a build has to ask for (git diff of
Source and Include).

The Python part alone of 1.5.1 was read. Its tests of transposed convolutions expect no failure any more, which came
with CMSIS-NN 8.0.0 (pull request 22719); its sources were not compared with those of `main`. Of 1.6.0, not released on
that day, the description of pull request 22861 alone was read: padding of four numbers.
"""
REVIEWED = {"executorch": EXECUTORCH, "tvm": TVM}
TFLM = "tflm"
NAMES = (DIRECT.name, TFLM, *REVIEWED)


def runtime_of(text: str) -> Runtime:
    """The runtime that `auto`, a name, or a name with `@` and a commit or date (`tflm@2026-06`) stands for.

    Raises:
        ValueError: there is no such runtime, or that revision has not been reviewed.

    """
    name, at, version = text.strip().partition("@")
    if name in (AUTO, DIRECT.name):
        if at:
            raise ValueError(f"'{text}': {name} has no revisions")
        return DIRECT if name == DIRECT.name else Runtime(AUTO)
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        with_version = "" if hint.endswith("?") else ", with @ and a commit or date"
        raise ValueError(f"runtime '{text}' is not known{hint}{with_version}")
    if at and not version:
        raise ValueError(f"'{text}': a commit or date has to follow the @")
    if name == TFLM:
        return _tflm(version)
    if name == EXECUTORCH.name and not version:
        return EXECUTORCH._replace(by_file=True)
    if name == EXECUTORCH.name and version in EXECUTORCH_RELEASES:
        return EXECUTORCH_RELEASES[version]
    return _reviewed(REVIEWED[name], version)


def runtime_for(runtime: Runtime, form: Format) -> Runtime:
    """The runtime that files of a format are judged for: the one that reads them, if any does."""
    if not form.interpreter:
        return DIRECT if runtime.name == AUTO else runtime
    if runtime.name == form.interpreter:
        return runtime
    return runtime_of(form.interpreter)._replace(asked=runtime.label if runtime.name != AUTO else "")


def runtime_notes(runtime: Runtime, form: Format | None = None, open_codes: str = "") -> tuple[str, ...]:
    """What a file was judged for; nothing where the application calls the functions itself.

    Of a file of the format `form` it tells if a converter makes another one of it, which the runtime reads;
    `open_codes` are the codes of findings that hold only if the converter writes what is expected.
    """
    if not runtime.judges:
        return ()
    own = format_read_by(runtime.name)
    library = f"the CMSIS-NN {_brought(runtime)}" if runtime.brings else "the CMSIS-NN release asked for"
    which = f", on {open_codes} before all" if open_codes else ""
    between = ""
    if form and own and own.name != form.name:
        between = f" What the converter writes decides{which}: lint the {own.suffix} file to be certain."
    how = "" if runtime.ran else f" {runtime.title}'s source was read, not run: findings say what it may do."
    if runtime.unread:
        which = "Its kernels and that CMSIS-NN" if runtime.brings else "Its kernels"
        read = f"{EXECUTORCH.commit}{f' and {runtime.release}' if runtime.brings else ''}"
        how = f" {which} were not read: those of {read} are judged in their place, and findings say what may happen."
    judged = f"Judged for {runtime.title} {runtime.commit[:8]} (since {runtime.since}) with {library}.{how}{between}"
    if not runtime.asked or own is None:
        return (judged,)
    return (
        judged,
        f"Not judged for {runtime.asked}, which was asked for: {own.suffix} files are judged for {runtime.name} alone.",
    )


def _brought(runtime: Runtime) -> str:
    """`4ab83cc3 that it brings: main, with transpose_conv_s8 of 7.0.0`, so that the release in labels is explained."""
    parts = [f"{', '.join(entries)} of {release}" for release, entries in runtime.behind.items()]
    kernels = f", with {' and '.join(parts)}" if parts else ""
    return f"{runtime.cmsis_nn} that it brings: {runtime.release}{kernels}"


def _tflm(version: str) -> Runtime:
    from onnxlint_cmsis.runtimes.tflm.revisions import reviewed_revision

    revision = reviewed_revision(version)
    return Runtime(
        TFLM,
        "TensorFlow Lite Micro",
        revision.commit,
        revision.since,
        cmsis_nn=revision.cmsis_nn[:8],
        release=revision.release,
        older=revision.older,
        unreleased=revision.unreleased,
    )


def _reviewed(runtime: Runtime, version: str) -> Runtime:
    """The reviewed revision, if the version is its commit or a date from its day on."""
    from onnxlint_cmsis.runtimes.tflm.revisions import DATE

    if re.fullmatch(DATE, version):
        gone = runtime.until and runtime.until[: len(version)] <= version
        if gone:
            raise ValueError(f"{runtime.title} has had no CMSIS-NN since {runtime.until}")
        fits = runtime.since[: len(version)] <= version
    else:
        fits = runtime.commit.startswith(version.lower()) or version.lower().startswith(runtime.commit)
    if version and not fits:
        releases = EXECUTORCH_RELEASES if runtime.name == EXECUTORCH.name else ()
        reviewed = ", ".join((f"{runtime.commit} (since {runtime.since})", *releases))
        raise ValueError(f"{runtime.title} '{version}' has not been reviewed; reviewed: {reviewed}")
    return runtime


# What becomes of an operator in a runtime.


class RuntimeVerdict(str, Enum):
    """What becomes of one operator."""

    CMSIS_NN = "CMSIS-NN"
    """CMSIS-NN functions compute it."""
    REFERENCE = "reference code"
    """Portable code of the runtime's own computes it."""
    REFUSED = "refused"
    """The runtime returns an error, at start or when it runs."""
    NO_KERNEL = "no kernel"
    """The runtime has no kernel, and the application can register one."""
    HALTS = "halts"
    """The firmware stops: a check does not hold."""
    WRONG = "wrong"
    """No error is seen, and the output is not what the model says."""
    UNDECIDED = "undecided"
    """What decides it is not known."""

    def effect(self, *, sure: bool = True) -> Effect:
        """What it does to whoever runs the model; `sure` is False where the operator may meet it."""
        effect = _EFFECTS[self]
        return effect if sure or not effect.decides or effect is Effect.UNKNOWN else Effect.MAY_FAIL


_EFFECTS = {
    RuntimeVerdict.CMSIS_NN: Effect.NOTE,
    RuntimeVerdict.REFERENCE: Effect.REFERENCE,
    RuntimeVerdict.REFUSED: Effect.STOPS,
    RuntimeVerdict.NO_KERNEL: Effect.NO_KERNEL,
    RuntimeVerdict.HALTS: Effect.STOPS,
    RuntimeVerdict.WRONG: Effect.WRONG,
    RuntimeVerdict.UNDECIDED: Effect.UNKNOWN,
}


USUAL_CAUSES = {
    RuntimeVerdict.REFUSED: "check",
    RuntimeVerdict.NO_KERNEL: "operator",
    RuntimeVerdict.HALTS: "check",
    RuntimeVerdict.WRONG: "kernel",
    RuntimeVerdict.REFERENCE: "no-function",
}
"""Verdicts that a rule reports, and the cause where no row names another."""
NOT_REVIEWED = "not-reviewed"
"""Cause of what a runtime does with a layer that nobody read."""


# What is to be said of a runtime and some layers of a model, before a rule makes findings of it.


SHOWN = 2
"""How many layers a message names."""


class RuntimeRemark(NamedTuple):
    """One reason for which a runtime does something with layers."""

    cause: str
    """Why, a key of the causes of a rule."""
    verdict: RuntimeVerdict
    """What becomes of the layers; it decides on the rule."""
    message: str
    """What is said."""
    location: Location
    """First of the layers."""
    nodes: tuple[str, ...]
    """Labels of all of them."""
    targets: tuple[str, ...] = ()
    """Labels of the targets it holds for; empty where it does not depend on a target."""
    level: Level | None = None
    """A milder level than the rule's."""
    source: str = ""
    """File and line of the runtime that decides it, and its commit."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layers too: the rule that claims them tells of both."""
    converter: bool = False
    """Whether what a converter makes of an ONNX model decides."""
    sure: bool = True
    """Whether the layers are known to meet it, in a runtime that was run."""
    do: str = ""
    """What to do, where that depends on the target; empty where the cause's words hold for all."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect(sure=self.sure)

    @property
    def kind(self) -> str:
        """What its rule claims."""
        return kind_of(self.verdict, self.cause)


def kind_of(verdict: RuntimeVerdict, cause: str) -> str:
    """What a rule claims: the verdict, or the cause where the verdict alone says nothing."""
    return verdict.value if verdict in USUAL_CAUSES else cause


def named(labels: tuple[str, ...]) -> str:
    """`'a', 'b' and 3 more`."""
    return and_more(quoted(labels), SHOWN)


# The arena of a model on one target, as `memory` tells it.


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
    method: MethodMemory | None = None
    """What lies beside the arena of an ExecuTorch program; None for other files."""


# What a runtime does with a file that it reads as it is: an answer for each operator of it.


class OperatorRow(Protocol):
    """What becomes of one operator of a file on one target."""

    @property
    def subgraph(self) -> int:
        """Number of its subgraph or method."""

    @property
    def index(self) -> int:
        """Its number there."""

    @property
    def op(self) -> str:
        """Operator in the file's words."""

    @property
    def label(self) -> str:
        """Its name in messages."""

    @property
    def functions(self) -> tuple[str, ...]:
        """CMSIS-NN functions that are called, outermost; none for other code."""

    @property
    def chain(self) -> tuple[str, ...]:
        """Kernels of the last function in order of delegation."""

    @property
    def verdict(self) -> RuntimeVerdict:
        """What becomes of it."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def own(self) -> tuple[str, ...]:
        """Reasons for wrong values that lie in the runtime and not in a function it calls."""

    @property
    def message(self) -> str:
        """What the firmware prints last of it, or empty."""

    @property
    def stage(self) -> str:
        """Stage at which the firmware stops; empty where it does not."""

    @property
    def scratch(self) -> tuple[int, ...]:
        """Bytes of each scratch buffer."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""


class FileOperator(NamedTuple):
    """An operator of a file."""

    row: OperatorRow
    """What becomes of it."""
    node: Node | None
    """Its node; None in subgraphs that the main one never runs."""
    tensor: str
    """Tensor that it writes first; empty for an operator that writes none."""


class ArenaSize(Protocol):
    """Bytes of an arena."""

    @property
    def used(self) -> int:
        """What is taken once all is planned."""

    @property
    def needed(self) -> int:
        """What has to be given."""

    @property
    def to_write(self) -> int:
        """The size to declare, which has the runtime's alignment."""


Turns = dict[str, tuple[float, float]]
"""The parts of a runtime's own code, each with the least and the most instructions of one turn."""


def instructions_of(costs: Turns, counts: Mapping[str, int]) -> tuple[int, int] | None:
    """Least and most instructions of code whose parts run so often; None for more than any device computes."""
    if max(counts.values()) >= MOST_INSTRUCTIONS:
        return None
    least, most = (sum(counts[turn] * ends[end] for turn, ends in costs.items()) for end in (0, 1))
    return int(least), ceil(most)


def steps_up(loops: list[int]) -> int:
    """How often all loops but the last, from the outermost on, go on to their next turn."""
    return sum(prod(loops[:depth]) for depth in range(1, len(loops)))


class FileInterpretation(Protocol):
    """What a runtime does with a file, in builds for some targets."""

    @property
    def path(self) -> str:
        """File as the user named it."""

    @property
    def lowered(self) -> Lowered:
        """The calls of CMSIS-NN that it makes, and what other code computes."""

    @property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the operators."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the build."""

    @property
    def constants(self) -> int:
        """Bytes of the constants."""

    @property
    def flash(self) -> int:
        """Bytes of the file, all of which lies in flash."""

    @property
    def resolver(self) -> Resolver | None:
        """Operators that the application registers; None where the runtime brings all."""

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each operator, in file order."""

    def stop(self, target: Target) -> str:
        """What stops the model in every build, as words; empty where a build runs it."""

    def has_cost(self, node: Node, target: Target) -> bool:
        """Whether there can be a cost of an operator."""

    def reference_range(self, node: Node, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of reference code; None where nothing is known."""

    def scratch(self, target: Target) -> int | None:
        """Bytes of scratch of the hungriest operator; None where one's are unknown."""

    def arena(self, target: Target) -> ArenaSize | None:
        """The arena; None where there is none."""

    def memory(self, target: Target) -> MemoryReport:
        """The arena with the names of all in it, or why there is none."""


def layer_of(graph: Graph, node: Node, call: KernelCall) -> Layer:
    """The call with the tensors that hold its channel counts."""
    groups = 1
    if operator_of(node).roles.form is Form.CHANNELS_LAST and call.filter_dims.c:
        groups = (call.input_dims.c or 0) // call.filter_dims.c or 1
    channels, macs = _channels(graph, node, call, groups), macs_of(graph, node) or None
    return Layer(node, call, channels, groups, macs=macs, once=node.index in graph.once)


def _last_axes(graph: Graph, data: str, result: str) -> dict[str, Channel]:
    """The last axis of input and output; none where one has no axes."""
    ranks = [len(graph.shape(name) or ()) for name in (data, result)]
    if not all(ranks):
        return {}
    return {"input_dims.c": Channel(data, ranks[0] - 1), "output_dims.c": Channel(result, ranks[1] - 1)}


def _channels(graph: Graph, node: Node, call: KernelCall, groups: int) -> dict[str, Channel]:
    """Places of the channel counts by CMSIS-NN's names; none where another count may be another function's.

    A dense layer with a result of more than two axes is one: which function takes it depends on its depth.
    """
    form = operator_of(node).roles.form
    if call.function in POINTWISE:
        return _last_axes(graph, node.inputs[0], node.outputs[0])
    if form is None:
        return {}
    weights = node.inputs[1]
    if len(graph.shape(weights) or ()) != (2 if form is Form.ROWS else 4):
        return {}
    if form is Form.DEPTHWISE_LAST:
        outputs = Channel(weights, 3)
        return {"input_dims.c": Channel(node.inputs[0], 3), "output_dims.c": outputs, "ch_mult": outputs}
    if form is Form.ROWS and call.function is not Function.FULLY_CONNECTED:
        return {}
    columns = Channel(weights, 1 if form is Form.ROWS else 3, groups)
    return {"input_dims.c": columns, "output_dims.c": Channel(weights, 0)}


# What a user sees of an error that a function of CMSIS-NN returns, by runtime.


K = "tensorflow/lite/micro/kernels/cmsis_nn/"


class StatusUse(NamedTuple):
    """What a kernel of a runtime does with the status of a function."""

    functions: tuple[Function, ...]
    """Functions, whatever their types."""
    text: str
    """What the user sees, as a sentence."""
    source: str
    """File and lines."""
    halts: bool = False
    """Whether a build with checks halts."""

    @property
    def unseen(self) -> bool:
        """Whether no build looks at the status, so that wrong values go on."""
        return self.text == _UNSEEN


_DROPPED = (
    "TensorFlow Lite Micro checks the status in default builds alone, which halt; a release build (NDEBUG) drops it: "
    "the output keeps old bytes and Invoke returns kTfLiteOk"
)
_RETURNED = "In TensorFlow Lite Micro, Invoke returns an error"
_UNSEEN = "TensorFlow Lite Micro never looks at the status: the output keeps old bytes and Invoke returns kTfLiteOk"

STATUS_OF_TFLM = (
    StatusUse((Function.CONVOLVE,), _DROPPED, f"{K}conv.cc:313", halts=True),
    StatusUse((Function.DEPTHWISE,), _DROPPED, f"{K}depthwise_conv.cc:292", halts=True),
    StatusUse((Function.TRANSPOSE_CONV,), _DROPPED, f"{K}transpose_conv.cc:382", halts=True),
    StatusUse((Function.AVERAGE_POOL, Function.MAX_POOL), _DROPPED, f"{K}pooling.cc:96-141", halts=True),
    StatusUse((Function.SOFTMAX,), _DROPPED, f"{K}softmax.cc:129", halts=True),
    StatusUse((Function.TRANSPOSE,), _DROPPED, f"{K}transpose.cc:48", halts=True),
    StatusUse((Function.FULLY_CONNECTED,), _RETURNED, f"{K}fully_connected.cc:255-398"),
    StatusUse((Function.BATCH_MATMUL,), _RETURNED, f"{K}batch_matmul.cc:399, 469"),
    StatusUse((Function.ADD,), _UNSEEN, f"{K}add.cc"),
    StatusUse((Function.MUL,), _UNSEEN, f"{K}mul.cc"),
    StatusUse((Function.MAXIMUM, Function.MINIMUM), _UNSEEN, f"{K}maximum_minimum.cc"),
    StatusUse((Function.PAD,), _UNSEEN, f"{K}pad.cc"),
    StatusUse((Function.SVDF,), _UNSEEN, f"{K}svdf.cc"),
    StatusUse((Function.LSTM,), _UNSEEN, f"{K}unidirectional_sequence_lstm.cc:451, 468"),
)
"""Read at 90b983c2; conv.cc and depthwise_conv.cc were also run."""


def status_use(entry: str) -> StatusUse | None:
    """What TensorFlow Lite Micro does with the status of an entry point; None where that was not read."""
    function, _ = entry_parts(entry)
    return next((row for row in STATUS_OF_TFLM if function in row.functions), None)


def status_text(runtime: str, entry: str) -> str:
    """What becomes of an error of an entry point, as a sentence; empty where that was not read."""
    use = status_use(entry) if runtime == TFLM else None
    return f"{use.text} ({use.source})." if use else ""


# What TensorFlow Lite calls an ONNX operator, where converters write one operator for it.


TFLITE_NAMES = {
    "Abs": "ABS", "Add": "ADD", "ArgMax": "ARG_MAX", "ArgMin": "ARG_MIN", "AveragePool": "AVERAGE_POOL_2D",
    "Cast": "CAST", "Ceil": "CEIL", "Concat": "CONCATENATION", "Conv": "CONV_2D", "ConvTranspose": "TRANSPOSE_CONV",
    "Cos": "COS", "CumSum": "CUMSUM", "DepthToSpace": "DEPTH_TO_SPACE", "Div": "DIV", "Elu": "ELU", "Equal": "EQUAL",
    "Exp": "EXP", "Floor": "FLOOR", "Gather": "GATHER", "Gelu": "GELU", "Gemm": "FULLY_CONNECTED",
    "GlobalAveragePool": "MEAN", "GlobalMaxPool": "REDUCE_MAX", "Greater": "GREATER", "HardSwish": "HARD_SWISH",
    "LeakyRelu": "LEAKY_RELU", "Less": "LESS", "Log": "LOG", "LogSoftmax": "LOG_SOFTMAX", "MatMul": "FULLY_CONNECTED",
    "Max": "MAXIMUM", "MaxPool": "MAX_POOL_2D", "Min": "MINIMUM", "Mul": "MUL", "Neg": "NEG", "Pad": "PAD",
    "Pow": "POW", "PRelu": "PRELU", "ReduceMax": "REDUCE_MAX", "ReduceMean": "MEAN", "ReduceMin": "REDUCE_MIN",
    "ReduceProd": "REDUCE_PROD", "ReduceSum": "SUM", "Relu": "RELU", "Resize": "RESIZE", "Round": "ROUND",
    "Sigmoid": "LOGISTIC", "Sin": "SIN", "Slice": "STRIDED_SLICE", "Softmax": "SOFTMAX",
    "SpaceToDepth": "SPACE_TO_DEPTH", "Split": "SPLIT", "Sqrt": "SQRT", "Sub": "SUB", "Sum": "ADD", "Tanh": "TANH",
    "Tile": "TILE", "TopK": "TOPK_V2", "Transpose": "TRANSPOSE", "Upsample": "RESIZE", "Where": "SELECT_V2",
    "LSTM": "LSTM", "GRU": "GRU", "RNN": "RNN",
}  # fmt: skip
"""Operator to the operator of TensorFlow Lite; RESIZE, LSTM, GRU and RNN stand for whatever becomes of them."""
LEFT_QUANTIZED = ("EXP", "LOG", "MIRROR_PAD", "REDUCE_MAX", "REDUCE_MIN", "RESIZE_BILINEAR")
"""Operators of which kernels refuse an integer type in which converters leave them, as converted files show; a
converter may compute others in float in between."""
WHOLE = {8: "INT8", 16: "INT16"}
"""Types of quantized data by their bits."""
REAL = ("float32", "float16", "float64")
RECURRENT = ("LSTM", "GRU", "RNN")
"""Those that converters write in several ways."""
BY_MODE = {
    ("Pad", "reflect"): "MIRROR_PAD",
    **{(op, "linear"): "RESIZE_BILINEAR" for op in ("Resize", "Upsample")},
    **{(op, "nearest"): "RESIZE_NEAREST_NEIGHBOR" for op in ("Resize", "Upsample")},
}
"""Operator for an ONNX operator with a mode, where it is another one than without."""
MODES = {"Resize": "nearest", "Upsample": "nearest"}
"""Mode of an operator that names none."""
_BY_CALL: dict[str, str] = {Function.DEPTHWISE: "DEPTHWISE_CONV_2D", Function.BATCH_MATMUL: "BATCH_MATMUL"}


def tflite_name(record: LoweredLayer) -> str:
    """Operator of TensorFlow Lite for a layer; empty where converters write several, or none is known."""
    name, layer = canonical(record.node), record.layer
    mode = record.node.text("mode", MODES.get(name, ""))
    return (layer and _BY_CALL.get(layer.call.function)) or BY_MODE.get((name, mode)) or TFLITE_NAMES.get(name, "")


# What the conditions of a runtime ask about a layer of an ONNX model.


class LayerFacts:
    """One layer, who computes it, and its shapes."""

    def __init__(self, graph: Graph, record: LoweredLayer, commit: str = "", unreleased: tuple[str, ...] = ()) -> None:
        """`commit` is the revision of TensorFlow Lite Micro, where that is the runtime; empty for the newest.

        `unreleased` has the entry points whose kernels in its library are those of no release.
        """
        self.commit = commit
        self.unreleased = unreleased
        self.graph = graph
        self.record = record
        self.node = record.node
        self.op = tflite_name(record)
        """Operator of TensorFlow Lite; conditions of all runtimes use these names."""
        self.cause = record.cause
        """Why CMSIS-NN cannot compute it, if so."""

    @property
    def call(self) -> KernelCall | None:
        """The kernel call that its geometry asks for."""
        return self.record.layer.call if self.record.layer else None

    @property
    def name(self) -> str:
        """Operator in messages."""
        return self.op or self.node.op_type

    @property
    def type(self) -> str:
        """`s8`, `s16`, `s4`, `s8_s16` or `float`."""
        if self.cause in (Cause.FLOAT, Cause.FLOAT_RESULT):
            return "float"
        if self.call:
            return self.call.types
        first = self.record.inputs[0] if self.record.inputs else None
        return {8: "s8", 16: "s16", 4: "s4"}[first.bits] if first else "s8"

    @cached_property
    def shapes(self) -> list[tuple[Size, ...] | None]:
        """Shapes of its operands: the activations, and the weights of a layer that has them; no scales, no bounds."""
        return [self.graph.shape(name) for name in operands_of(self.node)]

    @property
    def rank(self) -> int:
        """Axes of its first operand; 0 where unknown."""
        return len(self.shapes[0] or ()) if self.shapes else 0

    @property
    def batch(self) -> int:
        """Images; 1 where unknown."""
        return (self.call.input_dims.n if self.call else 1) or 1

    @property
    def broadcasts(self) -> bool:
        """Whether its two operands are known to differ in shape."""
        pair = self.shapes[:2]
        return len(pair) == 2 and None not in pair and pair[0] != pair[1]

    @property
    def clamped(self) -> bool:
        """Whether a Relu or Clip behind it is part of the layer."""
        return self.record.epilogue is not None and bool(self.record.epilogue.clamps)

    @property
    def weight_zero_point(self) -> bool:
        """Whether its weights have a zero-point other than 0, as int8."""
        return self.record.weights is not None and any(self.record.weights.signed_zero_points)

    @property
    def several_weight_scales(self) -> bool:
        """Whether its weights have a scale for each output."""
        scales = self.record.weights.scales if self.record.weights else None
        return scales is not None and len(scales) > 1

    @property
    def converted_types(self) -> tuple[str, ...]:
        """Types, in TensorFlow Lite's words, that converters may give its data; none where it is of whole numbers."""
        if self.type == "float":
            return ("FLOAT32",)
        position = next(iter(activations_of(self.node)), 0)
        source, result = of_input(self.graph, self.node, position), self.node.outputs[0]
        readers = self.graph.consumers.get(result, ()) if result not in self.graph.outputs else ()
        rounded = of_result(self.graph, self.node) or (readers and all(map(quantizes, readers)))
        if source and rounded and source.bits in WHOLE and self.op in LEFT_QUANTIZED:
            return (WHOLE[source.bits],)
        real = source or self.graph.elem_type(self.node.inputs[position]) in REAL
        return (*WHOLE.values(), "FLOAT32") if real else ()

    @property
    def activation_types(self) -> frozenset[str]:
        """Types of the integers that it reads and writes, as the file has them."""
        numbers = (*self.record.inputs, self.record.output)
        return frozenset(number.elem_type for number in numbers if number is not None)


# The form of a runtime's conditions: one row for each operator and condition.


class ConditionRow(NamedTuple):
    """What a runtime does with some operators where a condition holds."""

    cause: str
    """Cause of the finding, a key of the causes of the verdict's rule; empty is nothing to report."""
    verdict: RuntimeVerdict
    """What becomes of the layer."""
    ops: tuple[str, ...]
    """Operators in TensorFlow Lite's words; none for every operator."""
    holds: Callable[[LayerFacts], bool]
    """The condition."""
    reason: str
    """Why, as a clause; `{op}` is the operator, `{told}` what `told` says of the layer."""
    source: str
    """File and lines of the runtime, at the newest revision that was reviewed."""
    since: str = ""
    """Day from which it holds; empty for always."""
    until: str = ""
    """Day from which it holds no more; empty for none."""
    level: Level | None = None
    """A milder level than the rule's."""
    sure: bool = True
    """False where what the converter writes decides."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layer too: it holds for one of them. Empty where `holds` alone decides."""
    behind: bool = False
    """Whether it is about a clamp behind the layer, which stays in CMSIS-NN where reference code clamps."""
    isas: tuple[Isa, ...] = ()
    """Instruction sets on which it holds alone, of layers that the others leave to CMSIS-NN; empty for all."""
    seen: bool = False
    """Whether the call was seen to do so, though the runtime was not run."""
    told: Callable[[LayerFacts], str] = lambda _: ""
    """What the layer has, as a clause."""

    def decides(self, facts: LayerFacts, runtime: Runtime) -> bool:
        """Whether the row decides about a layer in a revision, on some instruction set at least."""
        dated = self.since <= runtime.since and (not self.until or runtime.since < self.until)
        asked = (not self.ops or facts.op in self.ops) and (not self.causes or facts.cause in self.causes)
        return dated and asked and self.holds(facts)


def always(_facts: LayerFacts) -> bool:
    """A condition that always holds."""
    return True


# How a firmware was built: what decides besides the model.


class TflmBuild(NamedTuple):
    """One build of TensorFlow Lite Micro."""

    target: Target
    """CPU, CMSIS-NN release and compiler."""
    revision: TflmRevision = reviewed_revision()
    """Revision of TensorFlow Lite Micro."""
    optimized_for: Literal["SPEED", "SIZE"] = "SPEED"
    """KERNELS_OPTIMIZED_FOR_SPEED keeps kernel sums for good, KERNELS_OPTIMIZED_FOR_SIZE works them out each time."""
    checks: bool = True
    """False for a build with NDEBUG (`BUILD_TYPE=release`), whose TFLITE_DCHECK is empty."""
    with_cmsis_nn: bool = True
    """False for reference kernels alone: `make` without OPTIMIZED_KERNEL_DIR=cmsis_nn."""
    own_library: bool = True
    """Whether CMSIS-NN is the commit that the revision downloads; False for the target's release as it is."""

    @property
    def _brings(self) -> bool:
        """Whether the library is the one that the revision downloads."""
        return self.own_library and self.target.release == self.revision.release

    @property
    def unreleased(self) -> tuple[str, ...]:
        """Entry points whose kernels are those of no reviewed release."""
        return self.revision.unreleased if self._brings else ()

    def kernels_of(self, entry: str) -> Target:
        """Target whose kernels an entry point has: the library downloaded may be behind the release in some."""
        older = dict(self.revision.older).get(entry)
        return self.target._replace(release=older) if self._brings and older else self.target

    @property
    def speed(self) -> bool:
        """Built with KERNELS_OPTIMIZED_FOR_SPEED."""
        return self.optimized_for == "SPEED"


def build_for(runtime: Runtime, target: Target, cmsis_nn_build: str = "SPEED", *, checks: bool = True) -> TflmBuild:
    """The build of TensorFlow Lite Micro for a target; `checks` is False for one with NDEBUG.

    `cmsis_nn_build` is `SPEED`, `SIZE`, or `NONE` for reference kernels alone.
    """
    return TflmBuild(
        target,
        reviewed_revision(runtime.commit),
        "SIZE" if cmsis_nn_build == "SIZE" else "SPEED",
        checks,
        with_cmsis_nn=cmsis_nn_build != "NONE",
        own_library=runtime.brings,
    )


# Padding as TensorFlow Lite knows it: SAME, VALID, a PAD operator in front, or a SLICE behind.


PADDED = (Function.CONVOLVE, Function.DEPTHWISE, Function.MAX_POOL)
"""Functions of layers in front of which a PAD can stand for their padding."""


def becomes_pad(call: KernelCall) -> bool:
    """Whether the padding of a call is known to be neither SAME nor VALID."""
    if call.function not in PADDED or not any((*call.padding, *call.pad_after)):
        return False
    return not all(_same(call, axis) for axis in (0, 1))


def handed_over(call: KernelCall, runtime: Runtime) -> KernelCall | None:
    """A call as a runtime makes it, behind a PAD where padding asks for one; None where it cannot express it."""
    if runtime.name != TFLM:
        return call
    return behind_pad(call) if becomes_pad(call) else call if expressible(call) else None


def expressible(call: KernelCall) -> bool:
    """Whether TensorFlow Lite has the padding of a transposed convolution: SAME puts the smaller half before."""
    pairs = zip(call.padding, call.pad_after, strict=True)
    known = [(before, after) for before, after in pairs if before is not None and after is not None]
    return call.function is not Function.TRANSPOSE_CONV or all(b == (b + a) // 2 for b, a in known)


def _same(call: KernelCall, axis: int) -> bool:
    """Whether SAME gives the padding along an axis (lite/kernels/padding.h); true where a size is unknown."""
    size, kernel = (call.input_dims.h, call.input_dims.w)[axis], (call.filter_dims.h, call.filter_dims.w)[axis]
    before, after = call.padding[axis], call.pad_after[axis]
    stride, dilation = call.stride[axis], call.dilation[axis]
    if size is None or kernel is None or before is None or after is None or not stride or dilation is None:
        return True
    return (before, after) == same_padding(size, reach(kernel, dilation), stride)


def loses_padding(call: KernelCall) -> bool:
    """Whether an average pool has a padding that is neither SAME nor VALID; the zeros of a PAD would count along."""
    padded = call.function is Function.AVERAGE_POOL and any((*call.padding, *call.pad_after))
    return padded and not all(_same(call, axis) for axis in (0, 1))


def becomes_slice(call: KernelCall) -> bool:
    """Whether a transposed convolution is cut in a way that neither SAME nor VALID is (lite/kernels/padding.h)."""
    if call.function is not Function.TRANSPOSE_CONV or not any((*call.padding, *call.pad_after)):
        return False
    return not all(_same_transposed(call, axis) for axis in (0, 1))


def _same_transposed(call: KernelCall, axis: int) -> bool:
    """Whether the output is that of SAME: stride times as large, cut by half on each side; true where unknown."""
    size, kernel = (call.input_dims.h, call.input_dims.w)[axis], (call.filter_dims.h, call.filter_dims.w)[axis]
    length, stride = (call.output_dims.h, call.output_dims.w)[axis], call.stride[axis]
    before, after = call.padding[axis], call.pad_after[axis]
    if size is None or kernel is None or length is None or not stride or before is None or after is None:
        return True
    return (length, before, after) == (size * stride, *halves(max(kernel - stride, 0)))


def behind_pad(call: KernelCall) -> KernelCall:
    """The call of the layer behind a PAD that takes its padding over."""
    plane = (call.input_dims.h, call.input_dims.w)
    height, width = (
        None if None in (size, before, after) else (size or 0) + (before or 0) + (after or 0)
        for size, before, after in zip(plane, call.padding, call.pad_after, strict=True)
    )
    dims = call.input_dims._replace(h=height, w=width)
    return call._replace(input_dims=dims, padding=Pair(0, 0), pad_after=Pair(0, 0))
