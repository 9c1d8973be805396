"""A `.tflite` model as TensorFlow Lite Micro's interpreter takes it, operator by operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.tflite.arrays import stored_bytes
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, operator_label
from onnxlint_cmsis.formats.tflite.open_sizes import is_open
from onnxlint_cmsis.formats.tflite.to_graph import LoadedTflite, names_of, tensor_keys
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level, Target
from onnxlint_cmsis.lower.decision import Cause, Verdict
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.runtime import (
    NOT_REVIEWED,
    USUAL_CAUSES,
    Arena,
    BufferLife,
    FileOperator,
    LayerScratch,
    MemoryReport,
    Runtime,
    RuntimeRemark,
    RuntimeVerdict,
    TflmBuild,
    build_for,
    layer_of,
    named,
)
from onnxlint_cmsis.runtimes.tflm.arena import ARENA, ArenaLayout, TooManySteps, lay_out
from onnxlint_cmsis.runtimes.tflm.kernels import KERNELS, came_on, kernel_of
from onnxlint_cmsis.runtimes.tflm.preparation import (
    HIGHEST_VERSION,
    OperatorView,
    Preparation,
    Refused,
    ResourceVariables,
    Stage,
    Unpredictable,
    resource_variables,
)
from onnxlint_cmsis.runtimes.tflm.prepare_requests import hold
from onnxlint_cmsis.runtimes.tflm.reference_checks import DYNAMIC, SIZED
from onnxlint_cmsis.runtimes.tflm.resolver import Resolver, resolver_of
from onnxlint_cmsis.runtimes.tflm.revisions import ALL_READ, TflmRevision
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit
from onnxlint_cmsis.runtimes.tflm.shared_rows import WITHOUT
from onnxlint_cmsis.runtimes.tflm.verdicts import (
    STAGES,
    TflmOperator,
    TflmReport,
    decided,
    halt,
    printed,
    stopped,
    unregistered,
)

# What TensorFlow Lite Micro does with a model: operator by operator, and in memory.


OPEN_SIZE = "open-size"
"""Cause of an operator whose sizes are placeholders, of which the rule on open sizes tells."""
MAX_BUFFERS = 5000
"""Tensors of the largest model that is laid out; the planner takes time with their square."""


def interpret(model: TfliteModel, build: TflmBuild) -> TflmReport:
    """Run a model on paper: every operator's verdict, and the memory of one that is allocated."""
    variables = resource_variables(model)
    operators = _operators(model, build, variables)
    status, message = _outcome(operators)
    arena, no_arena = _arena(model, build, operators, variables.variables)
    return TflmReport(operators, status, message, arena, no_arena)


def wrong_operators(model: TfliteModel, target: Target) -> tuple[TflmOperator, ...]:
    """Operators of which reference kernels alone make wrong values and say that all is well."""
    build = TflmBuild(target, checks=False, with_cmsis_nn=False)
    operators = _operators(model, build, resource_variables(model))
    return tuple(operator for operator in operators if operator.verdict is RuntimeVerdict.WRONG)


def _operators(model: TfliteModel, build: TflmBuild, variables: ResourceVariables) -> tuple[TflmOperator, ...]:
    """All operators, those also that the firmware never comes to behind one that stops it."""
    done: list[TflmOperator] = []
    scratch = 0
    for number, index, operator in model.operators():
        use = variables.uses.get((number, index))
        view = OperatorView(model, model.subgraphs[number], operator, index, use, scratch)
        done.append(_operator(Preparation(view, build), number))
        scratch += len(done[-1].scratch)
    return tuple(done)


def _operator(p: Preparation, number: int) -> TflmOperator:
    """One operator's row, however its kernel ends."""
    view = p.view
    owner = (number, view.number, view.operator.title)
    kernel = kernel_of(view.operator, p.build.revision, with_cmsis_nn=p.build.with_cmsis_nn)
    if kernel is None:
        return unregistered(owner, view.operator, came_on(view.operator))
    open_ = next((tensor for tensor in view.tensors if is_open(tensor)), None)
    if open_ is not None:
        return stopped(owner, RuntimeVerdict.UNDECIDED, f"a size of '{open_.name}' is open", cause=OPEN_SIZE)
    try:
        p.reference = kernel.reference
        hold(p, (*not_read(view.operator.op, p.build.revision), SIZED, *kernel.rows))
        kernel.then(p)
        hold(p, (DYNAMIC,))
    except Unpredictable as reason:
        return stopped(owner, RuntimeVerdict.UNDECIDED, str(reason), cause=reason.cause)
    except Refused as refusal:
        halted = halt(p, Stage.PREPARE)
        if halted:
            return stopped(owner, RuntimeVerdict.HALTS, halted.reason, cause=halted.cause)
        return stopped(owner, RuntimeVerdict.REFUSED, refusal.reason, printed(view, refusal), refusal.cause)
    return decided(p, number)


def not_read(op: str, revision: TflmRevision) -> Iterable[KernelLimit]:
    """Rows of what a kernel did before it changed, and nobody read."""
    if revision.since >= ALL_READ:
        return ()
    from onnxlint_cmsis.runtimes.tflm.unread import unread

    return unread(op)


def _outcome(operators: tuple[TflmOperator, ...]) -> tuple[str, str]:
    """Status and message of the model: the first operator that stops decides, behind what was printed before."""
    printed: list[str] = []
    for stage in STAGES:
        for operator in operators:
            if operator.stage == stage:
                status = "invoke_error" if stage == Stage.INVOKE.value else "alloc_error"
                halts = operator.verdict is RuntimeVerdict.HALTS
                return "halt" if halts else status, "; ".join(filter(None, (*printed, operator.message)))
            if stage == Stage.PREPARE.value and operator.verdict is RuntimeVerdict.UNDECIDED:
                return "undecided", ""
            if stage == Stage.INVOKE.value and operator.message:
                printed.append(operator.message)
    return "ok", "; ".join(printed)


def _arena(
    model: TfliteModel, build: TflmBuild, operators: tuple[TflmOperator, ...], variables: int
) -> tuple[ArenaLayout | None, str]:
    """The arena, or why there is none."""
    if not build.revision.layout:
        return None, f"how revision {build.revision.commit[:8]} lays it out has not been measured"
    if any(operator.stage in ("registration", Stage.PREPARE) for operator in operators):
        return None, "its tensors are not allocated"
    unknown = sorted({operator.op for operator in operators if operator.memory is None})
    if unknown:
        return None, f"the memory of {', '.join(unknown)} has not been measured"
    memory = [operator.memory for operator in operators if operator.memory]
    scratch = tuple((row.subgraph, row.index, size) for row in operators for size in row.scratch)
    tensors = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
    if tensors + len(scratch) > MAX_BUFFERS:
        return None, f"{tensors} tensors are more than the {MAX_BUFFERS} that are laid out"
    try:
        return lay_out(model, memory, scratch, ARENA[build.revision.layout], variables), ""
    except TooManySteps as reason:
        return None, str(reason)


# From what TensorFlow Lite Micro does with each operator to remarks: one for each reason, with its operators.


NAME = "TensorFlow Lite Micro"
FREE = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "WHILE", "IF", "CALL_ONCE", "VAR_HANDLE"})
"""Operators that copy bytes at most, run others, or point at what others keep."""
INTEGERS = ("int32", "int64")
"""Types of arithmetic on sizes and indices, which is short."""
REASONS = {
    "float": "it computes in float",
    **{name: f"its type is {name}" for name in (*INTEGERS, "int16")},
}
"""Reasons that are one word, as clauses."""


class Said(NamedTuple):
    """What is said of one operator."""

    cause: str
    """Cause of the finding."""
    verdict: RuntimeVerdict
    """What becomes of it in a build with checks."""
    text: str
    """What follows the operator's name."""
    level: Level | None = None
    """A milder level than the rule's."""


def remarks(
    default: tuple[TflmOperator, ...], release: tuple[TflmOperator, ...], places: list[Location], target: str
) -> list[RuntimeRemark]:
    """Remarks on a model on one target, from its operators in a build with checks and in one without.

    `places` are the operators' locations, in the same order.
    """
    groups: dict[Said, list[Location]] = {}
    loops = any(operator.op == "WHILE" for operator in default)
    for strict, lax, location in zip(default, release, places, strict=True):
        for said in _of_operator(strict, lax):
            looped = loops and said.cause == "float"
            groups.setdefault(said._replace(cause="recurrent") if looped else said, []).append(location)
    return [_remark(said, locations, target) for said, locations in groups.items()]


def version_remarks(model: TfliteModel, places: list[Location], targets: tuple[str, ...]) -> list[RuntimeRemark]:
    """One remark for each operator of which a version is asked for that nobody knew when the runtime was reviewed.

    `places` are the operators' locations, in the order of the subgraphs; `targets` the labels of all targets.
    """
    groups: dict[tuple[str, int], list[Location]] = {}
    for (_, _, operator), location in zip(model.operators(), places, strict=True):
        if operator.version > HIGHEST_VERSION.get(operator.op, operator.version):
            groups.setdefault((operator.op, operator.version), []).append(location)
    result = []
    for (op, version), same in groups.items():
        labels = tuple(location.node for location in same)
        text = (
            f"{named(labels)}: the kernel of {NAME} may leave out what version {version} of {op} added: no version is "
            f"compared, and {HIGHEST_VERSION[op]} is the highest that was known when the kernel was reviewed."
        )
        verdict = RuntimeVerdict.UNDECIDED
        result.append(RuntimeRemark("operator-version", verdict, text, same[0], labels, targets))
    return result


def _remark(said: Said, locations: list[Location], target: str) -> RuntimeRemark:
    labels = tuple(location.node for location in locations)
    message = f"{named(labels)}: {said.text}"
    return RuntimeRemark(said.cause, said.verdict, message, locations[0], labels, (target,), said.level)


def _of_operator(strict: TflmOperator, lax: TflmOperator) -> Iterator[Said]:
    """What is to be said of one operator; what its function's hazards say is left to their rules."""
    if strict.stage == "registration":
        yield _unregistered(strict)
    elif strict.verdict is RuntimeVerdict.REFUSED:
        yield Said(_cause(strict), strict.verdict, f"{_refusal(strict)}.")
    elif strict.verdict is RuntimeVerdict.HALTS:
        covered = strict.stage == "Invoke" and lax.verdict is RuntimeVerdict.WRONG and not lax.own
        if not covered:
            builds = f"a build of {NAME} with checks halts in {strict.stage}, and {_without_checks(lax)}"
            if lax.verdict is RuntimeVerdict.HALTS:
                builds = f"every build of {NAME} halts in {strict.stage}"
            yield Said(_cause(strict), strict.verdict, f"{builds}: {strict.reason}.")
    elif strict.verdict is RuntimeVerdict.WRONG and strict.own:
        text = f"wrong values with status kTfLiteOk: {'; '.join(strict.own)}."
        yield Said(_cause(strict), strict.verdict, text)
    elif strict.verdict is RuntimeVerdict.REFERENCE and strict.op not in FREE and strict.reason != WITHOUT:
        yield _reference(strict)
    elif strict.verdict is RuntimeVerdict.UNDECIDED and strict.cause != OPEN_SIZE:
        astray = "" if strict.cause == NOT_REVIEWED else "; it may read memory that is not the tensor's"
        text = f"what {NAME} does cannot be told: {strict.reason}{astray}."
        yield Said(strict.cause, strict.verdict, text, Level.WARNING)


def _cause(row: TflmOperator) -> str:
    return row.cause or USUAL_CAUSES[row.verdict]


def _unregistered(row: TflmOperator) -> Said:
    """An operator that no resolver of the runtime's own adds; the application can add custom ones."""
    if row.verdict is RuntimeVerdict.NO_KERNEL:
        text = "a custom operator: AllocateTensors fails unless the application registers a kernel for it."
        if row.op == "ethos-u":  # K/ethos_u/ethosu.cc has its kernel, K/ethosu.cc nothing for other boards
            text = (
                "Vela compiled the model for an Ethos-U: AllocateTensors fails without one; there use the file from"
                " before Vela. On a board with one, AddEthosU() registers its kernel."
            )
        return Said(row.cause, row.verdict, text, Level.WARNING)
    return Said(row.cause, row.verdict, f"{_refusal(row)}.")


def _refusal(row: TflmOperator) -> str:
    when = "Invoke returns an error" if row.stage == "Invoke" else "AllocateTensors fails"
    return f"{when}: {row.reason.rstrip('.')}"


def _without_checks(row: TflmOperator) -> str:
    """What a release build does where one with checks halts."""
    if row.verdict is RuntimeVerdict.WRONG:
        return f"a release build (NDEBUG) gives wrong values ({row.reason.rstrip('.')})"
    if row.verdict is RuntimeVerdict.REFUSED:
        when, _, reason = _refusal(row).partition(": ")
        return f"in a release build (NDEBUG) {when} ({reason})"
    computed = "CMSIS-NN" if row.verdict is RuntimeVerdict.CMSIS_NN else row.verdict.value
    return f"a release build (NDEBUG) goes on and computes it, by {computed}"


def _reference(row: TflmOperator) -> Said:
    """Reference code, where there is a kernel of CMSIS-NN that was not taken a warning."""
    text = f"{NAME} runs its reference code: {REASONS.get(row.reason, row.reason)}."
    level = None if row.cause == "mean" or (row.op in KERNELS and row.reason not in INTEGERS) else Level.NOTE
    return Said("no-function" if row.reason in INTEGERS else _cause(row), row.verdict, text, level)


# From the rows of TensorFlow Lite Micro's interpreter to lowered layers, which checks, planning and reports take.


VERDICTS = {
    RuntimeVerdict.REFERENCE: Verdict.REFERENCE,
    RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED,
}
"""Verdicts on operators that call no function; the others are refused."""


def _record(graph: Graph, node: Node, row: TflmOperator) -> LoweredLayer | None:
    runs = bool(row.functions) and row.stage not in ("registration", Stage.PREPARE)
    if runs:
        layer = layer_of(graph, node, row.call) if row.call else None
        return LoweredLayer(node, Verdict.CMSIS_NN, layer=layer)
    verdict = VERDICTS.get(row.verdict, Verdict.NO_KERNEL)
    if verdict is Verdict.REFERENCE and operator_of(node).free:
        return None
    return LoweredLayer(node, verdict, Cause.SHAPE if row.cause == OPEN_SIZE else Cause.RUNTIME, row.reason)


# Names of the buffers of an arena.


def buffer_names(model: TfliteModel, arena: ArenaLayout) -> list[str]:
    """Name of every buffer by its number: tensors of all subgraphs, then scratch requests."""
    taken = names_of(model)
    names = [
        name
        for number, subgraph in enumerate(model.subgraphs)
        for name in tensor_keys(subgraph, f"subgraph{number}" if number else "", taken)
    ]
    return names + [f"scratch of {label_of(model, number, owner)}" for number, owner, _ in arena.scratch]


def buffer_writers(model: TfliteModel, arena: ArenaLayout) -> dict[int, str]:
    """The operator that writes each buffer first, by the buffer's number as for `buffer_names`."""
    writers: dict[int, str] = {}
    base = 0
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            for tensor in operator.outputs:
                writers.setdefault(base + tensor, label_of(model, number, index))
        base += len(subgraph.tensors)
    return writers | {base + number: label_of(model, *request[:2]) for number, request in enumerate(arena.scratch)}


def label_of(model: TfliteModel, subgraph: int, index: int) -> str:
    """What messages call an operator."""
    return operator_label(subgraph, index, model.subgraphs[subgraph].operators[index].title)


# A file with all of this, for some targets.


WITHOUT_CMSIS_NN = "The build has reference code alone and no CMSIS-NN (cmsis-nn-build = NONE)."


class Interpretation:
    """What TensorFlow Lite Micro does with a file, in builds for some targets."""

    def __init__(self, loaded: LoadedTflite, targets: tuple[Target, ...], runtime: Runtime, build: str) -> None:
        """Take the file; `build` is SPEED, SIZE or NONE."""
        self.file = loaded.file
        """The file as plain data."""
        self._graph = loaded.graph
        self.targets = targets
        """CPUs with release and compiler."""
        self._runtime = runtime
        self._build = build
        self._reports: dict[tuple[Target, bool], TflmReport] = {}

    def report(self, target: Target, *, checks: bool = True) -> TflmReport:
        """What becomes of the file on a target; `checks` is False for a build with NDEBUG."""
        if (target, checks) not in self._reports:
            build = build_for(self._runtime, target, self._build, checks=checks)
            self._reports[target, checks] = interpret(self.file, build)
        return self._reports[target, checks]

    def stop(self, target: Target) -> str:
        """What stops the model in every build for a target, as words; empty where a build runs it."""
        return self.report(target, checks=False).stop

    @cached_property
    def nodes(self) -> list[Node | None]:
        """The graph's node of every operator, subgraph by subgraph; None in those that the main one never runs."""
        by_offset = {node.offset: node for node in self._graph.nodes}
        return [by_offset.get(operator.span.offset) for _, _, operator in self.file.operators()]

    @cached_property
    def views(self) -> list[OperatorView]:
        """Every operator with its tensors, subgraph by subgraph."""
        rows = self.file.operators()
        return [OperatorView(self.file, self.file.subgraphs[graph], operator, index) for graph, index, operator in rows]

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each operator in a build with checks, in file order."""
        operators = []
        for row, node in zip(self.report(target).operators, self.nodes, strict=True):
            if node is not None:
                tensor = next(iter(node.outputs), "")
            else:
                subgraph = self.file.subgraphs[row.subgraph]
                written = [subgraph.tensors[number].name for number in subgraph.operators[row.index].outputs[:1]]
                tensor = f"subgraph{row.subgraph}/{written[0]}" if written else ""
            operators.append(FileOperator(row, node, tensor))
        return tuple(operators)

    @cached_property
    def lowered(self) -> Lowered:
        """The calls that are made in a build without checks, in which there are more; the same on every target."""
        rows = self.report(self.targets[0], checks=False).operators
        records = [_record(self._graph, node, row) for row, node in zip(rows, self.nodes, strict=True) if node]
        return Lowered(tuple(record for record in records if record is not None))

    @cached_property
    def places(self) -> list[Location]:
        """Where each operator is; one that the main subgraph never runs by its number alone."""
        path = self._graph.path
        return [
            node_location(path, node) if node else Location(path, row.label, row.op, graph=f"subgraph {row.subgraph}")
            for row, node in zip(self.report(self.targets[0]).operators, self.nodes, strict=True)
        ]

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the runtime and the operators, target by target."""
        told: list[RuntimeRemark] = []
        for target in self.targets:
            strict, lax = (self.report(target, checks=checks).operators for checks in (True, False))
            told += remarks(strict, lax, self.places, target.label)
        price = self.float_price
        if price:
            told = [row._replace(message=f"{row.message} {price}") if row.cause == "float" else row for row in told]
        return (*told, *version_remarks(self.file, self.places, tuple(target.label for target in self.targets)))

    @cached_property
    def float_price(self) -> str:
        """How many times the instructions of int8 the layers with weights in float take, as a sentence; else empty."""
        rows = zip(self.report(self.targets[0], checks=False).operators, self.views, strict=True)
        views = [view for row, view in rows if row.verdict is RuntimeVerdict.REFERENCE and row.cause == "float"]
        if not views:
            return ""
        from onnxlint_cmsis.runtimes.tflm.float_price import times_int8

        told: dict[str, str] = {}
        for target in self.targets:
            build = build_for(self._runtime, target, self._build, checks=False)
            times = times_int8(views, target, build, self._runtime)
            if times and not self.stop(target):
                low, high = (f"{number:.2g}" if number < 10 else f"{number:.0f}" for number in times)
                told[target.cpu] = low if low == high else f"{low} to {high}"
        where = ", ".join(f"{times} times on {cpu}" for cpu, times in told.items())
        return f"Its layers with weights take more instructions than in int8: {where}." if where else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The note that no function of CMSIS-NN is called, where the build has none."""
        return (WITHOUT_CMSIS_NN,) if self._build == "NONE" else ()

    def has_cost(self, node: Node, target: Target) -> bool:
        """Whether there can be a cost: not in a model that stops, nor of several functions (in SIZE builds)."""
        rows = zip(self.report(target).operators, self.nodes, strict=True)
        several = any(len(row.functions) > 1 for row, other in rows if other is node)
        return not self.stop(target) and (node.index in self._graph.once or not several)

    def reference_range(self, node: Node, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of the reference kernel of an operator; None where nothing is known."""
        from onnxlint_cmsis.runtimes.tflm.reference_cost import operator_range

        own = (view for view, other in zip(self.views, self.nodes, strict=True) if other is node)
        return next((operator_range(view, target, self._runtime) for view in own), None)

    @property
    def path(self) -> str:
        """File as the user named it."""
        return self.file.path

    @property
    def constants(self) -> int:
        """Bytes of the constants."""
        return stored_bytes(self.file)

    @property
    def flash(self) -> int:
        """Bytes of the file, all of which lies in flash."""
        return len(self.file.data)

    @property
    def resolver(self) -> Resolver:
        """Operators that the application registers, those of all subgraphs."""
        return resolver_of(((op.op, op.custom_code) for _, _, op in self.file.operators()), whole=True)

    def scratch(self, target: Target) -> int | None:
        """Sum of an operator's requests, that of the hungriest; they lie in the arena. None where one's are unknown."""
        rows = self.report(target).operators
        return None if any(row.memory is None for row in rows) else max((sum(row.scratch) for row in rows), default=0)

    def arena(self, target: Target) -> ArenaLayout | None:
        """The arena of a build with checks; None where there is none, and for a model that stops."""
        return None if self.stop(target) else self.report(target).arena

    def memory(self, target: Target) -> MemoryReport:
        """The arena of a build with checks with the names of all in it, or why there is none."""
        report, arena, model = self.report(target), self.arena(target), self.file
        if arena is None:
            reasons = (report.no_arena or "it does not run", self.stop(target) or report.stop)
            return MemoryReport(target.label, report.status, report.message, ": ".join(filter(None, reasons)))
        names, writers = buffer_names(model, arena), buffer_writers(model, arena)
        plan = [
            BufferLife(names[b.number], writers.get(b.number, ""), b.size, b.first, b.last, b.offset)
            for b in arena.plan
        ]
        scratch = [LayerScratch(graph, op, label_of(model, graph, op), size) for graph, op, size in arena.scratch]
        main = all(row.subgraph == 0 for row in report.operators)
        last = max((buffer.last for buffer in arena.plan), default=-1)
        laid_out = Arena(
            arena.head,
            arena.tail,
            arena.needed,
            arena.to_write,
            arena.persistent,
            tuple(scratch),
            tuple(plan),
            tuple(sum(buffer.room for buffer in arena.alive(step)) for step in range(last + 1)),
            tuple(f"{row.op} '{row.label}'" for row in report.operators if main),
        )
        return MemoryReport(target.label, report.status, report.message, arena=laid_out)
