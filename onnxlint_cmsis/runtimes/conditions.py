"""What runtimes do with layers of ONNX models, and the conditions of TVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onnxlint_cmsis.cmsis_nn.families import FLOAT
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, KernelCall, Level, Target
from onnxlint_cmsis.lower.decision import Cause, Verdict
from onnxlint_cmsis.lower.loop_turns import turns_at, turns_of
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.work import ENOUGH, Work, share_of_work, work_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.runtime import (
    EXECUTORCH,
    NOT_REVIEWED,
    TFLM,
    ConditionRow,
    LayerFacts,
    Runtime,
    RuntimeRemark,
    RuntimeVerdict,
    always,
    becomes_pad,
    becomes_slice,
    behind_pad,
    loses_padding,
    named,
)

# What is to be said of layers whose padding TensorFlow Lite does not have.


PAD_IN_FRONT = (
    "a PAD operator comes in front, and the layer is judged without padding: TensorFlow Lite has no padding but SAME "
    "and VALID."
)
NO_SUCH_PADDING = (
    "what the converter writes in its place decides, and the layer is judged as it stands: AVERAGE_POOL_2D has no "
    "padding but SAME and VALID, and the zeros of a PAD would count."
)
SLICE_BEHIND = (
    "a SLICE or STRIDED_SLICE comes behind, in reference code, and the layer is judged as it stands: TRANSPOSE_CONV "
    "has no padding but SAME and VALID."
)


def padding_remarks(path: str, padded: list[Node], calls: Sequence[tuple[Node, KernelCall]]) -> Iterator[RuntimeRemark]:
    """One for each way in which a converter gets round it; `padded` are layers behind a PAD."""
    lost = [node for node, call in calls if loses_padding(call)]
    cut = [node for node, call in calls if becomes_slice(call)]
    for nodes, what in ((padded, PAD_IN_FRONT), (lost, NO_SUCH_PADDING), (cut, SLICE_BEHIND)):
        if nodes:
            labels = tuple(node.label for node in nodes)
            text, location = f"{named(labels)}: {what}", node_location(path, nodes[0])
            verdict, cause = RuntimeVerdict.CMSIS_NN, "padding"
            yield RuntimeRemark(cause, verdict, text, location, labels, level=Level.NOTE, converter=True)


CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PAIRS = ("ADD", "MUL")


# TVM up to 0.18.0: which layers its partitioner hands to CMSIS-NN.
#
# Read at 513c2be0, not run: the patterns and their checks (python/tvm/relay/op/contrib/cmsisnn.py), and the code
# generator, which looks at less than the functions need (src/relay/backend/contrib/cmsisnn/relay_to_tir.cc). The rows
# are for a model that reaches TVM as its reader of TensorFlow Lite files writes it.


FILE = "python/tvm/relay/op/contrib/cmsisnn.py"
EMIT = "src/relay/backend/contrib/cmsisnn/relay_to_tir.cc"
SCALARS = "src/relay/backend/contrib/cmsisnn/scalar_to_tensor_constant.cc"
FRONT = "python/tvm/relay/frontend/tflite.py"
TVM_CODE, TVM_REFUSED, TVM_WRONG = RuntimeVerdict.REFERENCE, RuntimeVerdict.REFUSED, RuntimeVerdict.WRONG
WEIGHTED = (*CONVOLUTIONS, "FULLY_CONNECTED")
PARTITIONED = ("SOFTMAX", *WEIGHTED, "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "MUL")
"""Operators with a pattern (FILE:75-383)."""
EXACT_SOFTMAX = (1 / 256, 1 / 32768)
"""Output scales that the partitioner compares with, bit for bit."""


def _without_bias(facts: LayerFacts) -> bool:
    return facts.call is not None and not facts.call.bias


def _unsigned(facts: LayerFacts) -> bool:
    return "uint8" in facts.activation_types


def _other_weights(facts: LayerFacts) -> bool:
    return facts.record.weights is not None and facts.record.weights.elem_type != "int8"


def _nearly_a_softmax_scale(facts: LayerFacts) -> bool:
    output = facts.record.output
    return facts.cause is None and output is not None and output.scale not in EXACT_SOFTMAX


def _one_number(facts: LayerFacts) -> bool:
    """One operand is a constant without axes, which TVM makes as large as the other, as int8."""
    return facts.broadcasts and () in facts.shapes and facts.type != "s16"


TVM_ROWS = (
    ConditionRow(
        "activation-type", TVM_CODE, PARTITIONED, _unsigned,
        "uint8 activations are not partitioned", f"{FILE}:90-101, 162-172, 260-272, 301-302, 367",
    ),
    ConditionRow(
        "weight-zero-point", TVM_CODE, WEIGHTED, lambda facts: facts.weight_zero_point,
        "weights with a zero-point are not partitioned", f"{FILE}:181-190, 274-277",
    ),
    ConditionRow(
        "weight-type", TVM_CODE, WEIGHTED, _other_weights,
        "int8 weights alone are partitioned", f"{FILE}:162-174, 260-272",
    ),
    ConditionRow(
        "zero-point-s16", TVM_CODE, (*CONVOLUTIONS, *PAIRS), always,
        "int16 activations with a zero-point are not partitioned", f"{FILE}:176-179, 374-381",
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "zero-point-s16", TVM_WRONG, ("FULLY_CONNECTED",), always,
        "a zero-point of int16 activations is not looked at, and arm_fully_connected_s16 reads none", f"{FILE}:252-277",
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "weight-scales", TVM_REFUSED, ("FULLY_CONNECTED",), lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output, and TVM asserts that there is one", f"{FRONT}:2021, {EMIT}:374",
    ),
    ConditionRow(
        "bias", TVM_CODE, ("DEPTHWISE_CONV_2D",), _without_bias,
        "a depthwise convolution without a bias is not partitioned", f"{FILE}:142-150, 190",
    ),
    ConditionRow(
        "batch", TVM_CODE, POOLS, lambda facts: facts.batch > 1,
        "pools of a batch are not partitioned", f"{FILE}:299, 324",
    ),
    ConditionRow(
        "unequal-scales", TVM_REFUSED, POOLS, always,
        "a pool changes the scale, and TVM asserts that it keeps it", f"{FRONT}:2582, 2593",
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "attribute", TVM_WRONG, POOLS, lambda facts: any(step != 1 for step in facts.node.ints("dilations")),
        "the dilation of a pool is not looked at, and CMSIS-NN's pools have none", f"{FILE}:287-329, {EMIT}:450-481",
    ),
    ConditionRow(
        "activation-type", TVM_CODE, ("SOFTMAX",), lambda facts: facts.type == "s8_s16",
        "a softmax from int8 to int16 is not partitioned", f"{FILE}:88-103",
    ),
    ConditionRow(
        "softmax-scale", TVM_CODE, ("SOFTMAX",), always,
        "a softmax whose output has another scale than 1/256, or another zero-point than -128 (int16: 1/32768 and 0), "
        "is not partitioned",
        f"{FILE}:88-103",
        causes=(Cause.SOFTMAX_SCALE,),
    ),
    ConditionRow(
        "softmax-scale", TVM_CODE, ("SOFTMAX",), _nearly_a_softmax_scale,
        "a softmax whose output has another scale than 1/256 (int16: 1/32768), however near, is not partitioned",
        f"{FILE}:88-103",
    ),
    ConditionRow(
        "axis", TVM_WRONG, ("SOFTMAX",), always,
        "the axis of a softmax is not looked at, and the call runs over the last one", f"{FILE}:82-103, {EMIT}:531-538",
        causes=(Cause.AXIS,),
    ),
    ConditionRow(
        "", RuntimeVerdict.CMSIS_NN, PAIRS, _one_number,
        "a constant without axes is made as large as the other operand", f"{SCALARS}:146-191",
    ),
    ConditionRow(
        "broadcast", TVM_WRONG, PAIRS, lambda facts: facts.broadcasts,
        "the shapes of its operands differ, which is not looked at; the call reads as many elements of each as the "
        "result has",
        f"{FILE}:345-383, {EMIT}:685-710, 758-788",
    ),
    ConditionRow(
        "mean", TVM_CODE, ("MEAN",), always,
        "a mean over a plane has no pattern; an average pool with the plane as window has one",
        f"{FILE}:279-304, 385-394", sure=False,
    ),
    ConditionRow(
        "no-function", TVM_CODE, (), lambda facts: facts.op not in PARTITIONED,
        "{op} is not partitioned", f"{FILE}:385-394",
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""


# What a runtime makes of the layers of an ONNX model: who computes them there, and what is to be said.


FLOAT_ROW = ConditionRow(
    "activation-type", RuntimeVerdict.REFERENCE, (), lambda facts: facts.type in FLOAT.types,
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
    RuntimeVerdict.REFERENCE: ("{title} runs", "{title} may run", "its reference code"),
    RuntimeVerdict.REFUSED: ("{title} refuses", "{title} may refuse", "it"),
    RuntimeVerdict.WRONG: ("{title} gives", "{title} may give", "wrong values with a status of success"),
    RuntimeVerdict.HALTS: ("a build of {title} with checks halts", "a build of {title} with checks may halt", ""),
    RuntimeVerdict.UNDECIDED: ("{title}", "{title}", ""),
    RuntimeVerdict.CMSIS_NN: ("{title}", "{title}", ""),
}
"""What each verdict says where it is sure, where it is not, and how it goes on."""
BESIDE = (RuntimeVerdict.REFERENCE, RuntimeVerdict.REFUSED)
"""Verdicts with which no function of CMSIS-NN is called."""


def _is_sure(row: ConditionRow, runtime: Runtime) -> bool:
    """Whether a layer that a row decides about is known to meet it."""
    return row.sure and (runtime.ran or row.seen)


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
    commit = runtime.commit if runtime.name == TFLM else ""
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
        verdict = RuntimeVerdict.CMSIS_NN if record.verdict is Verdict.CMSIS_NN else RuntimeVerdict.UNDECIDED
        judged = JudgedLayer(record, verdict, None, record.reason)
    else:
        verdict = RuntimeVerdict.CMSIS_NN if row.behind and row.verdict in BESIDE else row.verdict
        judged = JudgedLayer(record, verdict, row, row.reason.format(op=facts.name, told=row.told(facts)))
    if judged.verdict in BESIDE or (row is not None and row.cause == NOT_REVIEWED):
        return judged._replace(record=_beside(record, f"{runtime.title}: {judged.reason}", judged.verdict))
    if judged.verdict is RuntimeVerdict.CMSIS_NN:
        first = {isa: row for row in reversed(rows) for isa in row.isas}
        judged = judged._replace(cores=tuple(row for row in rows if row in first.values()))
    return _padded(judged) if runtime.name == TFLM else judged


def _beside(record: LoweredLayer, reason: str, by: RuntimeVerdict) -> LoweredLayer:
    """A layer that the runtime hands to no function of CMSIS-NN, or of which that is not known."""
    if record.verdict is not Verdict.CMSIS_NN:
        return record
    verdict = Verdict.UNDECIDED if by is RuntimeVerdict.UNDECIDED else Verdict.REFERENCE
    return record._replace(verdict=verdict, cause=Cause.RUNTIME, reason=reason)


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
    groups: dict[tuple[str, ConditionRow, str], list[Node]] = {}
    for layer in layers:
        for row, reason in ((layer.row, layer.reason), *((core, core.reason) for core in layer.cores)):
            if row and row.cause and (not row.isas or any(target.isa in row.isas for target in targets)):
                groups.setdefault((layer.record.node.op_type, row, reason), []).append(layer.record.node)
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
            converter=runtime.name == TFLM and not row.sure,
            sure=_is_sure(row, runtime),
        )
        for (op, row, reason), nodes in groups.items()
    ]
    padded = [layer.record.node for layer in layers if layer.padded]
    calls = [(layer.record.node, layer.record.layer.call) for layer in layers if layer.record.layer]
    return (*judged, *(padding_remarks(graph.path, padded, calls) if runtime.name == TFLM else ()))


def _phrase(row: ConditionRow, runtime: Runtime) -> str:
    """What the runtime does, or may do."""
    surely, maybe, then = PHRASES[row.verdict]
    return f"{surely if _is_sure(row, runtime) else maybe} {then}".strip().format(title=runtime.title)


def _labels(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(node.label for node in nodes)


def _level(row: ConditionRow, nodes: list[Node], work: dict[int, Work]) -> Level | None:
    """The row's level; reference code is worth a warning where it does much of a model's work, else a note."""
    if row.behind and row.verdict is RuntimeVerdict.REFERENCE:
        return Level.NOTE
    share = share_of_work(work, [node.index for node in nodes])
    if row.verdict is not RuntimeVerdict.REFERENCE or share is None:
        return row.level
    return None if share >= ENOUGH else Level.NOTE
