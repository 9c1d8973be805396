"""A `.tflite` model as TensorFlow Lite Micro's interpreter takes it, operator by operator."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, operator_label
from onnxlint_cmsis.formats.tflite.to_graph import tensor_keys
from onnxlint_cmsis.ground.findings import Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import POINTWISE, Function, KernelCall, Level
from onnxlint_cmsis.lower.layer import Cause, Channel, Layer, Verdict
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.work import macs_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.runtimes.runtime import RuntimeRemark, RuntimeVerdict, TflmBuild, named
from onnxlint_cmsis.runtimes.tflm.arena import ARENA, ArenaLayout, TooManySteps, lay_out
from onnxlint_cmsis.runtimes.tflm.kernels import DYNAMIC, KERNELS, SIZED, WITHOUT, hold, kernel_of
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


MAX_BUFFERS = 5000
"""Tensors of the largest model that is laid out; the planner takes time with their square."""


def interpret(model: TfliteModel, build: TflmBuild) -> TflmReport:
    """Run a model on paper: every operator's verdict, and the memory of one that is allocated."""
    variables = resource_variables(model)
    operators = _operators(model, build, variables)
    status, message = _outcome(operators)
    arena, no_arena = _arena(model, build, operators, variables.variables)
    return TflmReport(operators, status, message, arena, no_arena)


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
    kernel = kernel_of(view.operator, with_cmsis_nn=p.build.with_cmsis_nn)
    if kernel is None:
        return unregistered(owner, view.operator)
    try:
        p.reference = kernel.reference
        hold(p, (SIZED, *kernel.rows))
        kernel.then(p)
        hold(p, (DYNAMIC,))
    except Unpredictable as found:
        return stopped(owner, RuntimeVerdict.UNDECIDED, str(found))
    except Refused as refusal:
        halted = halt(p, Stage.PREPARE)
        if halted:
            return stopped(owner, RuntimeVerdict.HALTS, halted)
        return stopped(owner, RuntimeVerdict.REFUSED, refusal.reason, printed(view, refusal), refusal.kind)
    return decided(p, number)


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
    except TooManySteps as found:
        return None, str(found)


# From what TensorFlow Lite Micro does with each operator to remarks: one for each reason, with its operators.


NAME = "TensorFlow Lite Micro"
FREE = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that copy bytes at most."""
INTEGERS = ("int32", "int64")
"""Types of arithmetic on sizes and indices, which is short."""
REASONS = {
    "float": "it computes in float",
    **{name: f"its type is {name}" for name in (*INTEGERS, "int16")},
}
"""Reasons that are one word, as clauses."""


class Said(NamedTuple):
    """What is said of one operator."""

    kind: str
    """Kind of the remark."""
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
    for strict, lax, place in zip(default, release, places, strict=True):
        for said in _of_operator(strict, lax):
            groups.setdefault(said, []).append(place)
    return [_remark(said, found, target) for said, found in groups.items()]


def version_remarks(model: TfliteModel, places: list[Location], targets: tuple[str, ...]) -> list[RuntimeRemark]:
    """One remark for each operator of which a version is asked for that nobody knew when the runtime was reviewed.

    `places` are the operators' locations, in the order of the subgraphs; `targets` the labels of all targets.
    """
    groups: dict[tuple[str, int], list[Location]] = {}
    for (_, _, operator), place in zip(model.operators(), places, strict=True):
        if operator.version > HIGHEST_VERSION.get(operator.op, operator.version):
            groups.setdefault((operator.op, operator.version), []).append(place)
    found = []
    for (op, version), same in groups.items():
        labels = tuple(place.node for place in same)
        text = (
            f"{named(labels)}: the file asks for version {version} of {op}; {HIGHEST_VERSION[op]} is the highest that"
            f" was known when {NAME} was reviewed. {NAME} compares no versions: its kernel runs, without what a later"
            f" version added."
        )
        verdict = RuntimeVerdict.UNDECIDED
        found.append(RuntimeRemark("runtime-version", verdict, text, same[0], labels, targets))
    return found


def _remark(said: Said, places: list[Location], target: str) -> RuntimeRemark:
    labels = tuple(place.node for place in places)
    message = f"{named(labels)}: {said.text}"
    return RuntimeRemark(said.kind, said.verdict, message, places[0], labels, (target,), said.level)


def _of_operator(strict: TflmOperator, lax: TflmOperator) -> Iterator[Said]:
    """What is to be said of one operator; what its function's hazards say is left to their rules."""
    if strict.stage == "registration":
        yield _unregistered(strict)
    elif strict.verdict is RuntimeVerdict.REFUSED:
        yield Said(strict.kind or "runtime-stops", strict.verdict, f"{_refusal(strict)}.")
    elif strict.verdict is RuntimeVerdict.HALTS:
        covered = strict.stage == "Invoke" and lax.verdict is RuntimeVerdict.WRONG and not lax.own
        if not covered:
            yield Said("runtime-stops", strict.verdict, f"{_halt(strict)}; {_without_checks(lax)}.")
    elif strict.verdict is RuntimeVerdict.WRONG and strict.own:
        text = f"wrong values with status kTfLiteOk: {'; '.join(strict.own)}."
        yield Said(strict.kind or "runtime-wrong", strict.verdict, text)
    elif strict.verdict is RuntimeVerdict.REFERENCE and strict.op not in FREE and strict.reason != WITHOUT:
        yield _reference(strict)
    elif strict.verdict is RuntimeVerdict.UNDECIDED:
        text = f"what {NAME} does cannot be told: {strict.reason}; it may read memory that is not the tensor's."
        yield Said("runtime-stops", strict.verdict, text, Level.WARNING)


def _unregistered(row: TflmOperator) -> Said:
    """An operator that no resolver of the runtime's own adds; the application can add custom ones."""
    if row.reason.endswith("the application would have to register"):
        text = "a custom operator: AllocateTensors fails unless the application registers a kernel for it."
        return Said("runtime-operator", row.verdict, text, Level.WARNING)
    return Said("runtime-operator", row.verdict, f"{_refusal(row)}.")


def _refusal(row: TflmOperator) -> str:
    when = "Invoke returns an error" if row.stage == "Invoke" else "AllocateTensors fails"
    return f"{NAME} refuses it, {when}: {row.reason.rstrip('.')}"


def _halt(row: TflmOperator) -> str:
    return f"a build of {NAME} with checks halts in {row.stage}: {row.reason}"


def _without_checks(row: TflmOperator) -> str:
    """What a release build does where one with checks halts."""
    if row.verdict is RuntimeVerdict.WRONG:
        return f"a release build (NDEBUG) gives wrong values: {row.reason.rstrip('.')}"
    if row.verdict is RuntimeVerdict.REFUSED:
        return f"in a release build (NDEBUG) {_refusal(row).removeprefix(f'{NAME} refuses it, ')}"
    if row.verdict is RuntimeVerdict.HALTS:
        return "a release build (NDEBUG) halts there too"
    computed = "CMSIS-NN" if row.verdict is RuntimeVerdict.CMSIS_NN else row.verdict.value
    return f"a release build (NDEBUG) goes on and computes it, by {computed}"


def _reference(row: TflmOperator) -> Said:
    """Reference code, where there is a kernel of CMSIS-NN that was not taken a warning."""
    text = f"{NAME} runs reference code, no CMSIS-NN: {REASONS.get(row.reason, row.reason)}."
    level = None if row.kind or (row.op in KERNELS and row.reason not in INTEGERS) else Level.NOTE
    return Said(row.kind or "runtime-reference", row.verdict, text, level)


# From the rows of TensorFlow Lite Micro's interpreter to lowered layers, which checks, planning and reports take.


VERDICTS = {
    RuntimeVerdict.REFERENCE: Verdict.PLAIN,
    RuntimeVerdict.UNDECIDED: Verdict.UNDECIDED,
}
"""Verdicts on operators that call no function; the others are refused."""
"""Entry points whose output has the channels of the input, along the last axis of both."""


def lower_tflite(graph: Graph, model: TfliteModel, operators: tuple[TflmOperator, ...]) -> Lowered:
    """Every operator of the graph that has something to compute, with the call that the runtime makes.

    `operators` are the rows of a build without checks, in which more is called.
    """
    pairs = zip(operators, nodes_of(model, graph), strict=True)
    found = [_record(graph, node, row) for row, node in pairs if node is not None]
    return Lowered(tuple(record for record in found if record is not None))


def nodes_of(model: TfliteModel, graph: Graph) -> list[Node | None]:
    """The graph's node of every operator, subgraph by subgraph; None in subgraphs that the main one never runs."""
    by_offset = {node.offset: node for node in graph.nodes}
    return [by_offset.get(each.span.offset) for subgraph in model.subgraphs for each in subgraph.operators]


def _record(graph: Graph, node: Node, row: TflmOperator) -> LoweredLayer | None:
    runs = bool(row.functions) and row.stage not in ("registration", Stage.PREPARE)
    if runs:
        layer = layer_of(graph, node, row.call) if row.call else None
        return LoweredLayer(node, Verdict.CMSIS_NN, layer=layer)
    verdict = VERDICTS.get(row.verdict, Verdict.REFUSED)
    if verdict is Verdict.PLAIN and operator_of(node).free:
        return None
    return LoweredLayer(node, verdict, Cause.RUNTIME, row.reason)


def layer_of(graph: Graph, node: Node, call: KernelCall) -> Layer:
    """The call with the tensors that hold its channel counts."""
    groups = 1
    if operator_of(node).roles.form is Form.CHANNELS_LAST and call.filter_dims.c:
        groups = (call.input_dims.c or 0) // call.filter_dims.c or 1
    channels, macs = _channels(graph, node, call, groups), macs_of(graph, node) or None
    return Layer(node, call, channels, groups, macs=macs, once=node.index in graph.once)


def _last_axes(graph: Graph, data: str, made: str) -> dict[str, Channel]:
    """The last axis of input and output; none where one has no axes."""
    ranks = [len(graph.shape(name) or ()) for name in (data, made)]
    if not all(ranks):
        return {}
    return {"input_dims.c": Channel(data, ranks[0] - 1), "output_dims.c": Channel(made, ranks[1] - 1)}


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


# Names of the buffers of an arena.


def buffer_names(model: TfliteModel, arena: ArenaLayout) -> list[str]:
    """Name of every buffer by its number: tensors of all subgraphs, then scratch requests."""
    names = [
        name
        for number, subgraph in enumerate(model.subgraphs)
        for name in tensor_keys(subgraph, f"subgraph{number}" if number else "")
    ]
    return names + [f"scratch of {label_of(model, number, owner)}" for number, owner, _ in arena.scratch]


def buffer_writers(model: TfliteModel, arena: ArenaLayout) -> dict[int, str]:
    """The operator that writes each buffer first, by the buffer's number as for `buffer_names`."""
    found: dict[int, str] = {}
    base = 0
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            for tensor in operator.outputs:
                found.setdefault(base + tensor, label_of(model, number, index))
        base += len(subgraph.tensors)
    return found | {base + place: label_of(model, *request[:2]) for place, request in enumerate(arena.scratch)}


def label_of(model: TfliteModel, subgraph: int, index: int) -> str:
    """What messages call an operator."""
    return operator_label(subgraph, index, model.subgraphs[subgraph].operators[index].title)
