"""What ExecuTorch does with a program: its calls of CMSIS-NN as they stand in the file, and the memory planned there.

A program holds each call as it is made: sizes, offsets, multipliers and scratch. So nothing is lowered here; the
arguments become a KernelCall, and what its kernel checks first decides whether it is made at all.

Source: executorch cff6f4dd and the tags of releases, backends/cortex_m/ops/*.cpp; of 1.5.1 the names of operators and
their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.pte.calls import ProgramCall
from onnxlint_cmsis.formats.pte.names import BACKEND, SIGNATURES
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor, Value, ValueList
from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Isa, KernelCall, Level, Target
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.execution import FileExecution
from onnxlint_cmsis.runtimes.executorch.advice import MOVED, advice, facts_of
from onnxlint_cmsis.runtimes.executorch.calls import NotRunError
from onnxlint_cmsis.runtimes.executorch.cost import own_range
from onnxlint_cmsis.runtimes.executorch.kernels import AT_THE_BORDER, COPIES, OWN, WIDER_SINCE, Kernel, kernel_of
from onnxlint_cmsis.runtimes.executorch.method_allocator import method_memory
from onnxlint_cmsis.runtimes.executorch.plan import (
    PLANS,
    Plan,
    allocated,
    exported,
    losing_bias,
    lost_bias,
    plan_of,
    planned,
)
from onnxlint_cmsis.runtimes.executorch.portable import trouble
from onnxlint_cmsis.runtimes.executorch.portable_operators import lacks_kernel
from onnxlint_cmsis.runtimes.executorch.releases import is_missing, makers, misfit, release_on, revision_for
from onnxlint_cmsis.runtimes.executorch.unchecked import misread, unchecked
from onnxlint_cmsis.runtimes.interpretation import FileOperator, layer_of
from onnxlint_cmsis.runtimes.memory_report import Arena, BufferLife, LayerScratch, MemoryReport
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED, USUAL_CAUSES, RuntimeRemark, named
from onnxlint_cmsis.runtimes.runtime import Runtime


@dataclass(frozen=True)
class ProgramRow:
    """A call on one target."""

    subgraph: int
    """Number of its method."""
    index: int
    """Number of its instruction there."""
    op: str
    """Operator without its overload, or a delegate."""
    label: str
    """Its name in messages."""
    functions: tuple[str, ...]
    """Function of CMSIS-NN that is called; none for other code."""
    chain: tuple[str, ...]
    """Kernels of it in order of delegation."""
    verdict: Outcome
    """What becomes of it."""
    reason: str
    """Why."""
    own: tuple[str, ...]
    """Reasons for wrong values that lie in ExecuTorch or in the program, not in a function of CMSIS-NN."""
    stage: str
    """`load_method` or `execute` for one at which the program stops; empty otherwise."""
    scratch: tuple[int, ...]
    """Bytes of each scratch buffer: as planned, or as needed where it is allocated when it runs."""
    call: KernelCall | None = None
    """Call of CMSIS-NN."""
    cause: str = ""
    """Cause of the finding about it; empty for none."""
    level: Level | None = None
    """A milder level than its rule's."""
    message: str = ""
    """What the firmware prints; not known."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect()


EXECUTE = "execute"
"""Stage at which kernels look at their arguments: `Method::execute`."""
WITHOUT_BOUND = "the sizes of a tensor have no bound (runtime/executor/tensor_parser_portable.cpp:56)"
"""What every release refuses."""
LOAD = "load_method"
"""Stage at which operators are looked for: `Program::load_method`."""
MISREAD = "an image of {} with its channels last is read as {} where it lies, and a reshape would move its elements"
RELEASE, MISSING, BOUNDLESS = "release", "operator", "sizes"
"""Causes of findings about a program that does not load or run: arguments of another release, an operator that it does
not have, and sizes without a bound."""
SCRATCH = ("scratch", "output_scratch")
"""Arguments that are planned scratch."""
NAME = "ExecuTorch"

BESIDE = {
    **dict.fromkeys((Outcome.REFERENCE, Outcome.WRONG), Outcome.REFERENCE),
    Outcome.UNDECIDED: Outcome.UNDECIDED,
}
"""What a call counts as that is none of CMSIS-NN; any other one is refused."""


class Interpretation(FileExecution):
    """What ExecuTorch does with a program, in builds for some targets."""

    def __init__(self, loaded: LoadedProgram, targets: tuple[Target, ...], runtime: Runtime, build: str) -> None:
        """Take the file; `build` is for TensorFlow Lite Micro alone."""
        del build
        self.loaded = loaded
        """The file and its graph."""
        self.targets = targets
        """CPUs with release and compiler."""
        self._runtime = revision_for(loaded, runtime)
        self._rows: dict[Target, tuple[ProgramRow, ...]] = {}

    @cached_property
    def kernels(self) -> tuple[Kernel | None, ...]:
        """The kernel of each call that calls CMSIS-NN; None for other code, and for a call that the release refuses."""
        day = self._runtime.since
        return tuple(
            kernel_of(call.op, day)
            if call.arguments and call.step.kind == "KernelCall" and not misfit(call, day)
            else None
            for call in self.loaded.calls
        )

    @cached_property
    def _kernel_calls(self) -> tuple[KernelCall | NotRunError | None, ...]:
        """The call of CMSIS-NN of each call of the program, why its kernel ends before, or None for other code."""
        kernel_calls: list[KernelCall | NotRunError | None] = []
        for call, kernel in zip(self.loaded.calls, self.kernels, strict=True):
            try:
                kernel_calls.append(kernel.call(call) if kernel else None)
            except NotRunError as reason:
                kernel_calls.append(reason)
        return tuple(kernel_calls)

    @cached_property
    def _biases(self) -> tuple[Isa | None, ...]:
        """Of each call, where the bias of a dense layer is lost."""
        return tuple(lost_bias(self.loaded, call) for call in self.loaded.calls)

    def _route(self, kernel_call: KernelCall, target: Target) -> Route:
        return route(kernel_call, self._runtime.library(kernel_call.entry, target))

    def rows(self, target: Target) -> tuple[ProgramRow, ...]:
        """What becomes of each call on a target, in file order."""
        if target not in self._rows:
            rows = [self._row(number, target) for number in range(len(self.loaded.calls))]
            self._rows[target] = tuple(
                replace(
                    row,
                    verdict=Outcome.WRONG,
                    reason=reason,
                    own=(reason,),
                    cause=USUAL_CAUSES[Outcome.WRONG],
                    level=None,
                )
                if reason and row.verdict in (Outcome.CMSIS_NN, Outcome.REFERENCE)
                else row
                for row, reason in zip(rows, self._misread, strict=True)
            )
        return self._rows[target]

    @cached_property
    def _misread(self) -> tuple[str, ...]:
        """Of each call, that a reshape without a call turned what it reads or what the program returns; empty for most.

        The exporter leaves a reshape out, also one of an image with its channels last, whose elements would move.
        """
        keys, turned = self.loaded.keys, {}
        for (method, value), written in self.loaded.views.items():
            read = self.methods[method].values[value]
            if isinstance(read, PteTensor) and misread(written, read):
                turned[method, value] = MISREAD.format(list(written.sizes), list(read.sizes))
        reasons = []
        for call in self.loaded.calls:
            results = {keys[call.method, value] for value in call.results}
            ends = [value for value in self.methods[call.method].outputs if keys.get((call.method, value)) in results]
            reasons.append(next(filter(None, (turned.get((call.method, v)) for v in (*call.operands, *ends))), ""))
        return tuple(reasons)

    def plan(self, number: int, target: Target) -> Plan:
        """What comes on a target of the plan of a call that reaches CMSIS-NN; `number` is that of its node."""
        call, kernel_call, kernel = self.loaded.calls[number], self._kernel_calls[number], self.kernels[number]
        if kernel is None or not isinstance(kernel_call, KernelCall):
            raise TypeError(f"call {number} reaches no function of CMSIS-NN")
        taken = self._route(kernel_call, target)
        return losing_bias(plan_of(call, kernel, kernel_call, taken, target), self._biases[number], target)

    def _row(self, number: int, target: Target) -> ProgramRow:
        call, kernel_call, kernel = self.loaded.calls[number], self._kernel_calls[number], self.kernels[number]
        front, values = (call.method, call.number, call.op, call.label), self.methods[call.method].values
        tensors = [values[value] for value in (*call.operands, *call.results) if value >= 0]
        if any(isinstance(tensor, PteTensor) and tensor.unbounded for tensor in tensors):
            return ProgramRow(*front, (), (), Outcome.REFUSED, WITHOUT_BOUND, (), LOAD, (), cause=BOUNDLESS)
        if kernel is None or kernel_call is None:
            return _beside(call, front, self._runtime.since, values)
        if isinstance(kernel_call, NotRunError):
            verdict = Outcome.HALTS if kernel_call.aborts else Outcome.REFUSED
            return ProgramRow(
                *front, (), (), verdict, f"{kernel_call}, so that {kernel.function} is not called", (), EXECUTE, (),
                cause="check",
            )  # fmt: skip
        taken = self._route(kernel_call, target)
        plan = self.plan(number, target)
        wrong = unchecked(call, kernel)
        verdict = plan.verdict or (Outcome.WRONG if wrong else Outcome.CMSIS_NN)
        reasons = tuple(filter(None, (plan.reason, wrong)))
        return ProgramRow(
            *front,
            (kernel.function,),
            taken.chain,
            verdict,
            "; ".join(reasons),
            reasons if verdict is Outcome.WRONG else (),
            EXECUTE if verdict in (Outcome.REFUSED, Outcome.HALTS) else "",
            allocated(kernel, kernel_call, plan, self._runtime.library(kernel_call.entry, target)),
            kernel_call,
            plan.cause if plan.verdict else "kernel" if wrong else "",
            Level.WARNING if verdict is Outcome.UNDECIDED else None,
        )

    def operators(self, target: Target) -> tuple[FileOperator, ...]:
        """What becomes of each call, in file order."""
        pairs = zip(self.rows(target), self.loaded.graph.nodes, strict=True)
        return tuple(FileOperator(row, node, next(iter(node.outputs), "")) for row, node in pairs)

    @cached_property
    def asked(self) -> Lowered:
        """The calls of CMSIS-NN, the same on every target, and what other code computes."""
        records = []
        graph = self.loaded.graph
        for node, row in zip(graph.nodes, self.rows(self.targets[0]), strict=True):
            if row.call is not None:
                records.append(LoweredLayer(node, Outcome.CMSIS_NN, layer=layer_of(graph, node, row.call)))
            elif row.op in COPIES or not operator_of(node).free:
                verdict = BESIDE.get(row.verdict, Outcome.NO_KERNEL)
                records.append(LoweredLayer(node, verdict, Cause.RUNTIME, row.reason))
        return Lowered(tuple(records))

    @cached_property
    def remarks(self) -> tuple[RuntimeRemark, ...]:
        """What is to be said of the calls, target by target."""
        return tuple(remark for target in self.targets for remark in self._remarks(target))

    def _remarks(self, target: Target) -> Iterator[RuntimeRemark]:
        groups: dict[tuple[str, Outcome, str, Level | None, str], list[Node]] = {}
        program = facts_of(self.loaded.calls)
        for call, row, node in zip(self.loaded.calls, self.rows(target), self.loaded.graph.nodes, strict=True):
            if row.cause:
                do = export_for(target, self._runtime.since) if row.cause in PLANS else ""
                misfits = row.cause in (MISSING, RELEASE) and row.verdict is Outcome.REFUSED
                do = self._release_to_use if misfits else do
                if row.reason and row.reason in self._misread:
                    do = MOVED
                elif not do and row.cause in USUAL_CAUSES.values():
                    do = advice(call, row.verdict, self.methods[call.method].values, program)
                groups.setdefault((row.cause, row.verdict, row.reason, row.level, do), []).append(node)
        for (cause, verdict, reason, level, do), nodes in groups.items():
            labels = tuple(node.label for node in nodes)
            phrase = LOADS.get(cause) or PHRASES[verdict]
            plan = f" {self.plan_text}" if cause in PLANS else ""
            text, location = (
                f"{named(labels)}: {phrase}{reason}.{plan}",
                node_location(self.loaded.graph.path, nodes[0]),
            )
            yield RuntimeRemark(cause, verdict, text, location, labels, (target.label,), level, do=do)

    @cached_property
    def planned_for(self) -> tuple[Isa, ...]:
        """Instruction sets for which every plan of the program is what an exporter writes; none for no one plan."""
        fits = []
        for isa in Isa:
            triples = zip(self.loaded.calls, self.kernels, self._kernel_calls, strict=True)
            if all(
                planned(call, kernel) in ((), exported(call, kernel, kernel_call, isa, self._runtime))
                for call, kernel, kernel_call in triples
                if kernel and isinstance(kernel_call, KernelCall)
            ):
                fits.append(isa)
        return tuple(fits)

    @cached_property
    def plan_text(self) -> str:
        """What the program was planned for, as a sentence."""
        sets = " or ".join(isa.value.upper() if isa is not Isa.SCALAR else isa.value for isa in self.planned_for)
        return f"The program is planned for {sets} code." if sets else "No one instruction set explains its plan."

    @property
    def _release_to_use(self) -> str:
        """How a program and a firmware of one release come about, as a sentence."""
        names = makers(self.loaded)
        own = release_on(self._runtime.since)
        newest = [*RELEASES][-1]
        span = names and (f"{names[0]} or a newer one" if names[-1] == newest else names[-1])
        build = f"Build the firmware with ExecuTorch {span}, or export" if span else "Export"
        return f"{build} the program again with {own}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Which operators a build has to register."""
        names = dict.fromkeys(
            step.name for method in self.methods for step in method.steps if step.kind == "KernelCall"
        )
        listed = ",".join(names)
        return (f"The build registers these operators: EXECUTORCH_SELECT_OPS_LIST={listed}",) if listed else ()

    @property
    def path(self) -> str:
        """File as the user named it."""
        return self.loaded.program.path

    @property
    def methods(self) -> tuple[Method, ...]:
        """Entry points."""
        return self.loaded.program.methods

    def has_cost(self, node: Node, target: Target) -> bool:
        """Tell if there can be a cost: not in a program that stops, nor of a call that is repeated for each place."""
        row = self.rows(target)[node.index]
        repeated = (
            row.call is not None and row.call.input_dims != row.call.filter_dims and "elementwise" in row.call.entry
        )
        return not repeated and not self.stop(target)

    def stop(self, target: Target) -> str | None:
        """What stops the program on a target, as words; None where it runs."""
        return next((f"{row.label}: {row.reason}" for row in self.rows(target) if row.stage), None)

    def reference_range(self, record: LoweredLayer, target: Target) -> tuple[int, int] | None:
        """Least and most instructions of ExecuTorch's own code; None for what was not measured."""
        call = self.loaded.calls[record.node.index]
        source = self.methods[call.method].values[call.operands[0]] if call.operands else None
        if not isinstance(source, PteTensor) or call.written is None:
            return None
        return own_range(call.op, source, call.written, target, self._runtime)

    @property
    def resolver(self) -> None:
        """None: ExecuTorch registers its operators itself."""

    @property
    def constants(self) -> int:
        """Bytes of the constants, each place once."""
        spans = {
            value.data
            for method in self.methods
            for value in method.values
            if isinstance(value, PteTensor) and value.data is not None
        }
        return sum(span.length for span in spans)

    @property
    def flash(self) -> int:
        """Bytes of the program, all of which lies in flash; values in another file are not among them."""
        return len(self.loaded.program.data)

    def scratch(self, target: Target) -> int | None:
        """Bytes of the largest scratch of a call; that of planned ones lies in the arena."""
        return max((sum(row.scratch) for row in self.rows(target)), default=0)

    def arena(self, target: Target) -> Arena | None:
        """The planned buffers of the method that has the largest ones."""
        return self.memory(target).arena

    def memory(self, target: Target) -> MemoryReport:
        """The buffers that the file plans, and the method allocator beside them, the same on every target."""
        number = max(range(len(self.methods)), key=lambda index: sum(self.methods[index].pools[1:]))
        method, calls = self.methods[number], [call for call in self.loaded.calls if call.method == number]
        starts = [sum(method.pools[1:pool]) for pool in range(len(method.pools))]
        plan = self._plan(number, method, calls, starts)
        rows = {row.index: row for row in self.rows(target) if row.subgraph == number}
        scratch = tuple(
            LayerScratch(number, step, rows[call.number].label, size)
            for step, call in enumerate(calls, 1)
            for size in rows[call.number].scratch
            if size
        )
        whole = sum(method.pools[1:])
        changes = [0] * (len(calls) + 2)
        for life in plan:
            changes[life.first] += life.bytes
            changes[life.last + 1] -= life.bytes
        alive = tuple(accumulate(changes[:-1]))
        labels = tuple(f"{call.op} '{call.label}'" for call in calls)
        arena = Arena(whole, 0, whole, whole, {}, scratch, plan, alive, labels, PLANNED)
        return MemoryReport(target.label, arena=arena, method=method_memory(method, self._runtime))

    def _plan(self, number: int, method: Method, calls: list[ProgramCall], starts: list[int]) -> tuple[BufferLife, ...]:
        """Every planned tensor with the steps that need it; step 0 is the caller before the first call."""
        steps: dict[int, list[int]] = {index: [0] for index in method.inputs}
        writers: dict[int, str] = {}
        for step, call in enumerate(calls, 1):
            for index in call.step.args:
                value = method.values[index]
                for inner in value.items if isinstance(value, ValueList) else (index,):
                    steps.setdefault(inner, []).append(step)
            writers |= {index: call.label for index in call.results if index not in writers}
            scratch = [call.arguments.get(name) for name in SCRATCH]
            writers |= {index: call.label for index in call.step.args if method.values[index] in scratch and scratch}
        for index in method.outputs:
            steps.setdefault(index, []).append(len(calls))
        lives: dict[tuple[str, int], BufferLife] = {}
        for index, value in enumerate(method.values):
            if isinstance(value, PteTensor) and value.pool and value.bytes and index in steps:
                name = self.loaded.keys.get((number, index), f"scratch of {writers.get(index, '')}")
                first, last = min(steps[index]), max(steps[index])
                offset = starts[value.pool] + value.offset
                life = BufferLife(name, writers.get(index, ""), value.bytes, first, last, offset)
                before = lives.setdefault((name, offset), life)  # of a view that was left out
                lives[name, offset] = before._replace(first=min(before.first, first), last=max(before.last, last))
        return tuple(lives.values())


def export_for(target: Target, day: str) -> str:
    """How a program is exported for a target, as a sentence (backends/cortex_m/target_config.py).

    `day` is that of the release, which may not know cores yet.
    """
    cpu = target.cpu.removeprefix("cortex-").partition("+no")[0].upper()
    cpu = EXPORTED_AS.get(cpu, cpu)
    config = f"CortexMTargetConfig(CortexM.{cpu}, isa=cmsis_nn.Backend.{target.isa.value.upper()})"
    again = "again" if day >= RELEASES[CORES_SINCE] else f"with ExecuTorch {CORES_SINCE} or a newer one and"
    return f"Export it {again} with CortexMPassManager(program, target_config={config})."


CORES_SINCE = "1.4.0"
"""First release whose exporter is told the core."""
EXPORTED_AS = {"M0+": "M0PLUS", "M52": "M55"}
"""CPUs that an exporter names otherwise, or has another name for with the same instruction sets (target_config.py)."""
PLANNED = "the buffers that the file plans; the method allocator and temporary memory come on top"
"""What the figures of an arena are."""
PHRASES = {
    Outcome.CMSIS_NN: "",
    Outcome.REFERENCE: f"{NAME} runs its own code, no CMSIS-NN: ",
    Outcome.REFUSED: f"{NAME}'s execute returns an error: ",
    Outcome.HALTS: f"{NAME} aborts, or a fault ends it: ",
    Outcome.WRONG: "wrong with no error: ",
    Outcome.UNDECIDED: "not decided: ",
}
"""What each verdict says, and how it goes on."""
LOADS = {
    MISSING: f"{NAME}'s load_method returns OperatorMissing: ",
    BOUNDLESS: f"{NAME}'s load_method returns NotSupported: ",
}
"""The same by cause, where the program does not load."""


def _types(call: ProgramCall) -> tuple[str, ...]:
    """Element types of what a call reads and writes first."""
    tensors = (call.tensor("input"), call.written)
    return tuple(tensor.elem_type for tensor in tensors if tensor is not None)


def _beside(call: ProgramCall, front: tuple[int, int, str, str], day: str, values: Sequence[Value]) -> ProgramRow:
    """A call of no function of CMSIS-NN in the release of a day; `values` are those of its method."""
    if call.step.kind == "KernelCall" and (reason := misfit(call, day)):
        missing = is_missing(call.op, day)
        return ProgramRow(
            *front, (), (), Outcome.REFUSED, reason, (), LOAD if missing else EXECUTE, (),
            cause=MISSING if missing else RELEASE,
        )  # fmt: skip
    if call.op in AT_THE_BORDER and day < RELEASES[WIDER_SINCE] and "int16" in _types(call):
        reason = f"it is of int16, which its kernel takes since {WIDER_SINCE}"
        return ProgramRow(*front, (), (), Outcome.HALTS, reason, (), EXECUTE, (), cause="check")
    if call.step.kind == "DelegateCall":
        reason = f"the delegate {call.op} computes it, which is not looked at"
        return ProgramRow(*front, (), (), Outcome.UNDECIDED, reason, (), "", (), cause=NOT_REVIEWED, level=Level.NOTE)
    if not call.op.startswith(BACKEND) and lacks_kernel(call.op, day):
        verdict = Outcome.NO_KERNEL
        reason = f"{call.op} has no kernel in its portable library; the application can register one"
    else:
        verdict, reason = trouble(call, values)
    if reason:
        stage = {Outcome.REFUSED: EXECUTE, Outcome.NO_KERNEL: LOAD}.get(verdict, "")
        return ProgramRow(
            *front, (), (), verdict, reason, (reason,) if not stage else (), stage, (), cause=USUAL_CAUSES[verdict]
        )
    if call.op in SIGNATURES and not call.arguments:
        reason = f"{call.op} has {call.given} arguments here, as in no revision that was reviewed"
    elif call.op.startswith(BACKEND) and call.op not in SIGNATURES:
        reason = f"{call.op} is no operator of a revision that was reviewed"
    else:
        known = OWN.get(call.op) or COPIES.get(call.op)
        kind = call.written.elem_type if call.written else ""
        reason = known or f"portable code computes it{f' in {kind}' if kind else ''}"
        level = Level.NOTE if known else None
        silent = call.op in AT_THE_BORDER
        return ProgramRow(
            *front, (), (), Outcome.REFERENCE, reason, (), "", (),
            cause="" if silent else "no-function", level=level,
        )  # fmt: skip
    return ProgramRow(*front, (), (), Outcome.UNDECIDED, reason, (), "", (), cause=NOT_REVIEWED, level=Level.WARNING)
