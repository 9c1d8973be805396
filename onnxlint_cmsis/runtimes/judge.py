"""What a runtime makes of the layers of an ONNX model: who computes them there, and what is to be said."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.graph.node_location import node_location
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.verdict import Cause, Verdict
from onnxlint_cmsis.lower.work import ENOUGH, Work, share_of_work, work_of
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes import executorch_conditions, tflm_conditions, tvm_conditions
from onnxlint_cmsis.runtimes.condition_rows import ConditionRow
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.padding_remarks import padding_remarks
from onnxlint_cmsis.runtimes.remark import RuntimeRemark, named
from onnxlint_cmsis.runtimes.runtime import Runtime
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflite_padding import becomes_pad, behind_pad
from onnxlint_cmsis.types import Level

CONDITIONS: dict[str, tuple[ConditionRow, ...]] = {
    "tflm": tflm_conditions.ROWS,
    "executorch": executorch_conditions.ROWS,
    "tvm": tvm_conditions.ROWS,
}
"""Conditions of each runtime."""
PHRASES = {
    RuntimeVerdict.REFERENCE: ("{title} runs", "{title} may run", "reference code, no CMSIS-NN"),
    RuntimeVerdict.REFUSED: ("{title} refuses", "{title} may refuse", "it"),
    RuntimeVerdict.WRONG: ("{title} gives", "{title} may give", "wrong values with a status of success"),
    RuntimeVerdict.HALTS: ("a build of {title} with checks halts", "a build of {title} with checks may halt", ""),
    RuntimeVerdict.UNDECIDED: ("{title}", "{title}", ""),
    RuntimeVerdict.CMSIS_NN: ("{title}", "{title}", ""),
}
"""What each verdict says where it is sure, where it is not, and how it goes on."""
BESIDE = (RuntimeVerdict.REFERENCE, RuntimeVerdict.REFUSED)
"""Verdicts with which no function of CMSIS-NN is called."""


class JudgedLayer(NamedTuple):
    """One layer in a runtime."""

    record: LoweredLayer
    """The layer with the call that the runtime makes, or the reason why it makes none."""
    verdict: RuntimeVerdict
    """What becomes of it."""
    row: ConditionRow | None = None
    """The condition that decided it; None where none did."""
    reason: str = ""
    """Why, as a clause."""
    padded: bool = False
    """Whether its padding becomes a PAD operator."""


class Consequence(NamedTuple):
    """What a runtime makes of a layer for the cause for which CMSIS-NN refuses it."""

    text: str
    """What it does, as a sentence."""
    reason: str
    """Why, and where its source says so."""
    level: Level | None
    """A milder level than an error."""


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
    layers = tuple(_layer(LayerFacts(graph, record), runtime) for record in lowered.records)
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
    row = next((row for row in CONDITIONS[runtime.name] if row.decides(facts, runtime)), None)
    if row is None:
        verdict = RuntimeVerdict.CMSIS_NN if record.verdict is Verdict.CMSIS_NN else RuntimeVerdict.UNDECIDED
        judged = JudgedLayer(record, verdict, None, record.reason)
    else:
        judged = JudgedLayer(record, row.verdict, row, row.reason.format(op=facts.name))
    if judged.verdict in BESIDE:
        return judged._replace(record=_beside(record, f"{runtime.title}: {judged.reason}"))
    return _padded(judged) if runtime.name == "tflm" else judged


def _beside(record: LoweredLayer, reason: str) -> LoweredLayer:
    """A layer that the runtime hands to no function of CMSIS-NN."""
    if record.verdict is not Verdict.CMSIS_NN:
        return record
    return record._replace(verdict=Verdict.PLAIN, cause=Cause.RUNTIME, reason=reason)


def _padded(judged: JudgedLayer) -> JudgedLayer:
    """The layer behind the PAD operator that its padding becomes, if it does."""
    layer = judged.record.layer
    if judged.record.verdict is not Verdict.CMSIS_NN or layer is None or not becomes_pad(layer.call):
        return judged
    record = judged.record._replace(layer=layer._replace(call=behind_pad(layer.call)))
    return judged._replace(record=record, padded=True)


def _consequence(layer: JudgedLayer, row: ConditionRow, runtime: Runtime) -> Consequence:
    text = _phrase(row, runtime)
    level = Level.WARNING if row.verdict is RuntimeVerdict.REFERENCE else row.level
    return Consequence(f"{text[0].upper()}{text[1:]}.", f"{runtime.title}: {layer.reason} ({row.source})", level)


def remarks(graph: Graph, layers: tuple[JudgedLayer, ...], runtime: Runtime) -> tuple[RuntimeRemark, ...]:
    """What is to be said, once for each operator and reason."""
    work = {layer.record.node.index: work_of(graph, layer.record) for layer in layers}
    groups: dict[tuple[str, ConditionRow, str], list[Node]] = {}
    for layer in layers:
        if layer.row and layer.row.kind:
            groups.setdefault((layer.record.node.op_type, layer.row, layer.reason), []).append(layer.record.node)
    found = [
        RuntimeRemark(
            row.kind,
            row.verdict,
            f"{op} {named(_labels(nodes))}: {_phrase(row, runtime)}: {reason}.",
            node_location(graph.path, nodes[0]),
            _labels(nodes),
            level=_level(row, nodes, work),
            source=row.source if runtime.ran else f"{row.source}, read at {runtime.commit}, not run",
            causes=row.causes,
            converter=runtime.name == "tflm" and not row.sure,
        )
        for (op, row, reason), nodes in groups.items()
    ]
    padded = [layer.record.node for layer in layers if layer.padded]
    calls = [(layer.record.node, layer.record.layer.call) for layer in layers if layer.record.layer]
    return (*found, *(padding_remarks(graph.path, padded, calls) if runtime.name == "tflm" else ()))


def _phrase(row: ConditionRow, runtime: Runtime) -> str:
    """What the runtime does, or may do."""
    surely, maybe, then = PHRASES[row.verdict]
    return f"{surely if row.sure and runtime.ran else maybe} {then}".strip().format(title=runtime.title)


def _labels(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(node.label for node in nodes)


def _level(row: ConditionRow, nodes: list[Node], work: dict[int, Work]) -> Level | None:
    """The row's level; reference code is worth a warning where it does much of a model's work, else a note."""
    share = share_of_work(work, [node.index for node in nodes])
    if row.verdict is not RuntimeVerdict.REFERENCE or share is None:
        return row.level
    return None if share >= ENOUGH else Level.NOTE
