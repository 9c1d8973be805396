"""What a runtime makes of the layers of an ONNX model: who computes them there, and what is to be said."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Level, Target
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.loop_turns import turns_at, turns_of
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.lower.work import ENOUGH, Work, share_of_work, work_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.condition_row import ConditionRow
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.padding_remarks import padding_remarks
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED, REPEATED, RuntimeRemark, named
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH, TFLM, Runtime
from onnxlint_cmsis.runtimes.tflite_padding import becomes_pad, behind_pad
from onnxlint_cmsis.runtimes.tvm import TVM_ROWS

FLOAT_ROW = ConditionRow(
    "activation-type", Outcome.REFERENCE, (), lambda facts: facts.type in FLOAT.types,
    "it calls none of CMSIS-NN's functions for f32 and f16", "no such call in its sources",
)  # fmt: skip
"""The first condition of every runtime."""


def conditions_of(runtime: str) -> tuple[ConditionRow, ...]:
    """Conditions of a runtime, in the order in which they are asked."""
    if runtime == TFLM:
        from onnxlint_cmsis.runtimes.tflm.layers import TFLM_ROWS

        return TFLM_ROWS
    if runtime == EXECUTORCH.name:
        from onnxlint_cmsis.runtimes.executorch.layers import EXECUTORCH_ROWS

        return EXECUTORCH_ROWS
    return TVM_ROWS


PHRASES = {
    Outcome.REFERENCE: ("{title} runs", "{title} may run", "its reference code"),
    Outcome.REFUSED: ("{title} refuses", "{title} may refuse", "it"),
    Outcome.WRONG: ("{title} gives", "{title} may give", "wrong values with a status of success"),
    Outcome.HALTS: ("a build of {title} with checks halts", "a build of {title} with checks may halt", ""),
    Outcome.UNDECIDED: ("{title}", "{title}", ""),
    Outcome.CMSIS_NN: ("{title}", "{title}", ""),
}
"""What each verdict says where it is sure, where it is not, and how it goes on."""
BESIDE = (Outcome.REFERENCE, Outcome.REFUSED)
"""Verdicts with which no function of CMSIS-NN is called."""


def _is_sure(row: ConditionRow, runtime: Runtime) -> bool:
    """Tell whether a layer that a row decides about is known to meet it."""
    return row.sure and (runtime.ran or row.seen)


class JudgedLayer(NamedTuple):
    """One layer in a runtime."""

    record: LoweredLayer
    """The layer with the call that the runtime makes, or the reason why it makes none."""
    verdict: Outcome
    """What becomes of it."""
    row: ConditionRow | None = None
    """The condition that decided it; None where none did."""
    reason: str = ""
    """Why, as a clause."""
    padded: bool = False
    """Whether its padding becomes a PAD operator."""
    cores: tuple[ConditionRow, ...] = ()
    """Conditions of a layer that reaches CMSIS-NN which hold on some instruction sets alone."""

    def on(self, isa: Isa) -> JudgedLayer:
        """The layer on a core with an instruction set."""
        row = next((row for row in self.cores if isa in row.isas), None)
        return self._replace(verdict=row.verdict, row=row, reason=row.reason) if row else self

    def effect(self, runtime: Runtime) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect(sure=runtime.ran if self.row is None else _is_sure(self.row, runtime))


class Consequence(NamedTuple):
    """What a runtime makes of a layer for the cause for which CMSIS-NN refuses it."""

    text: str
    """What it does, as a clause."""
    reason: str
    """Why, and where its source says so."""
    level: Level | None
    """A milder level than an error."""
    effect: Effect
    """What it does to whoever runs the model."""


class Judged(NamedTuple):
    """A model in a runtime."""

    layers: tuple[JudgedLayer, ...]
    """Every layer, in file order."""
    lowered: Lowered
    """The layers as the runtime has them."""
    told: frozenset[int]
    """Indices of nodes whose row says who computes them."""
    elsewhere: frozenset[int]
    """Those that the runtime refuses or computes itself for a reason that is not CMSIS-NN's."""
    consequences: dict[int, Consequence]
    """What becomes of the nodes whose row is about CMSIS-NN's own cause, by index."""


def judge(graph: Graph, lowered: Lowered, runtime: Runtime) -> Judged:
    """Ask the runtime's conditions about every layer."""
    commit = runtime.commit if runtime.reads_tflite else ""
    unreleased = runtime.unreleased if runtime.brings else ()
    layers = tuple(_layer(LayerFacts(graph, record, commit, unreleased), runtime) for record in lowered.records)
    decided = [(layer.record.node.index, layer, layer.row) for layer in layers if layer.row]
    return Judged(
        layers,
        replace(lowered, records=tuple(layer.record for layer in layers)),
        frozenset(index for index, _, _ in decided),
        frozenset(index for index, layer, row in decided if not row.causes and layer.verdict in BESIDE),
        {index: _consequence(layer, row, runtime) for index, layer, row in decided if row.causes},
    )


def _layer(facts: LayerFacts, runtime: Runtime) -> JudgedLayer:
    record = facts.record
    rows = [row for row in (FLOAT_ROW, *conditions_of(runtime.name)) if row.decides(facts, runtime)]
    row = next((row for row in rows if not row.isas), None)
    if row is None:
        verdict = Outcome.CMSIS_NN if record.verdict is Outcome.CMSIS_NN else Outcome.UNDECIDED
        judged = JudgedLayer(record, verdict, None, record.reason)
    else:
        verdict = Outcome.CMSIS_NN if row.behind and row.verdict in BESIDE else row.verdict
        judged = JudgedLayer(record, verdict, row, row.reason.format(op=facts.name, told=row.told(facts)))
    if judged.verdict in BESIDE or (row is not None and row.cause == NOT_REVIEWED):
        return judged._replace(record=_beside(record, f"{runtime.title}: {judged.reason}", judged.verdict))
    if judged.verdict is Outcome.CMSIS_NN:
        first = {isa: row for row in reversed(rows) for isa in row.isas}
        judged = judged._replace(cores=tuple(row for row in rows if row in first.values()))
    return _padded(judged) if runtime.reads_tflite else judged


def _beside(record: LoweredLayer, reason: str, by: Outcome) -> LoweredLayer:
    """A layer that the runtime hands to no function of CMSIS-NN, or of which that is not known."""
    if record.verdict is not Outcome.CMSIS_NN:
        return record
    verdict = Outcome.UNDECIDED if by is Outcome.UNDECIDED else Outcome.REFERENCE
    return record._replace(verdict=verdict, cause=Cause.RUNTIME, reason=reason)


def _padded(judged: JudgedLayer) -> JudgedLayer:
    """The layer behind the PAD operator that its padding becomes, if it does."""
    layer = judged.record.layer
    if judged.record.verdict is not Outcome.CMSIS_NN or layer is None or not becomes_pad(layer.call):
        return judged
    record = judged.record._replace(layer=layer._replace(call=behind_pad(layer.call)))
    return judged._replace(record=record, padded=True)


def _consequence(layer: JudgedLayer, row: ConditionRow, runtime: Runtime) -> Consequence:
    text = _phrase(row, runtime)
    level = Level.WARNING if row.verdict is Outcome.REFERENCE else row.level
    reason = f"{runtime.title}: {layer.reason} ({row.source})"
    return Consequence(text, reason, level, layer.effect(runtime))


def remarks(
    graph: Graph, layers: tuple[JudgedLayer, ...], runtime: Runtime, targets: tuple[Target, ...]
) -> tuple[RuntimeRemark, ...]:
    """What is to be said, once for each operator and reason; of some instruction sets alone, with their targets."""
    turns = turns_of(graph)
    work = {
        layer.record.node.index: work_of(graph, layer.record).times(turns_at(turns, layer.record.node.graph))
        for layer in layers
    }
    groups: dict[tuple[str, ConditionRow, str, str], list[Node]] = {}
    for layer in layers:
        for row, reason in ((layer.row, layer.reason), *((core, core.reason) for core in layer.cores)):
            if row and row.cause and (not row.isas or any(target.isa in row.isas for target in targets)):
                node = layer.record.node
                groups.setdefault((node.op_type, row, reason, _do(graph, row, node)), []).append(node)
    judged = [
        RuntimeRemark(
            row.cause,
            row.verdict,
            f"{op} {named(_labels(nodes))}: {_phrase(row, runtime)}: {reason}.",
            node_location(graph.path, nodes[0]),
            _labels(nodes),
            tuple(target.label for target in targets if target.isa in row.isas),
            level=_level(row, nodes, work),
            source=row.source if runtime.ran else f"{row.source}, read at {runtime.commit}, not run",
            causes=row.causes,
            converter=runtime.reads_tflite and not row.sure,
            sure=_is_sure(row, runtime),
            do=do,
        )
        for (op, row, reason, do), nodes in groups.items()
    ]
    padded = [layer.record.node for layer in layers if layer.padded]
    calls = [(layer.record.node, layer.record.layer.call) for layer in layers if layer.record.layer]
    return (*judged, *(padding_remarks(graph.path, padded, calls) if runtime.reads_tflite else ()))


def _do(graph: Graph, row: ConditionRow, node: Node) -> str:
    """What to do about a node, where the cause's own words do not hold for it."""
    if row.cause != "broadcast" or row.verdict is not Outcome.REFERENCE:
        return ""
    roles = operator_of(node).roles
    operands = [node.inputs[position] for position in (roles.first, roles.second) if node.has(position)]
    return "" if any(weights_behind(graph, name) for name in operands) else REPEATED


def _phrase(row: ConditionRow, runtime: Runtime) -> str:
    """What the runtime does, or may do."""
    surely, maybe, then = PHRASES[row.verdict]
    return f"{surely if _is_sure(row, runtime) else maybe} {then}".strip().format(title=runtime.title)


def _labels(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(node.label for node in nodes)


def _level(row: ConditionRow, nodes: list[Node], work: dict[int, Work]) -> Level | None:
    """The row's level; reference code is worth a warning where it does much of a model's work, else a note."""
    if row.behind and row.verdict is Outcome.REFERENCE:
        return Level.NOTE
    share = share_of_work(work, [node.index for node in nodes])
    if row.verdict is not Outcome.REFERENCE or share is None:
        return row.level
    return None if share >= ENOUGH else Level.NOTE
