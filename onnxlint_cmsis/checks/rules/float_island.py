"""Layers compute in float in a quantized model.

A layer computes in float where no QuantizeLinear stands behind it, or where it reads a float tensor: the device
converts to floats, computes (in software on a Cortex-M without an FPU), and converts back. At the end of a model it
may be wanted: a Softmax of ten numbers costs little.

**What to do.** Quantize these layers as well. ONNX Runtime: leave nodes out of `nodes_to_exclude`, and operators in
`op_types_to_quantize`. The operator format leaves ConvTranspose in float, `quant_format=QuantFormat.QDQ` does not. In
place of ConvInteger and MatMulInteger, whose sums have no scale, quantize the float model with `quantize_static`.
To keep them, judge them with `--assume f32` or `f16` by the float functions that CMSIS-NN has on main.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.kernel_advice import SIZED, known_remedy
from onnxlint_cmsis.checks.quantization_checks import EFFECTS, described, is_much, share_of_macs
from onnxlint_cmsis.checks.quantizer_advice import advice, brief_advice, float_name
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.float_islands import FloatIsland, islands
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import SMALLEST, percent
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.model.roles import Sums

ENDS_NAMED = 2
"""How many ends a message names on each side."""

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    BETWEEN
    f = Conv(e, b)
    y = QuantizeLinear(f, s, z)
}
"""

RULE = Rule(
    code="CNN513",
    name="float-island",
    level=Level.WARNING,
    effect=Effect.REFERENCE,
    summary="Layers compute in float in a quantized model.",
    docs=__doc__,
    bad=Example(_MODEL.replace("BETWEEN", "e = Sqrt(c)")),
    good=Example(_MODEL.replace("BETWEEN", "d = QuantizeLinear(c, s, z)\n    e = DequantizeLinear(d, s, z)")),
    kinds=(Cause.FLOAT.value, Cause.FLOAT_RESULT.value),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each part in float that does not follow from dynamic quantization."""
    groups: dict[tuple[str, ...], list[FloatIsland]] = {}
    for island in islands(subject.model.graph, subject.lowered):
        if not island.dynamic:
            groups.setdefault(tuple(record.node.op_type for record in island.records), []).append(island)
    for operators, alike in groups.items():
        nodes = [record for island in alike for record in island.records]
        level = Level.WARNING if is_much(subject.model, nodes) else Level.NOTE
        for island in alike:
            yield _statement(subject, island, level, ", ".join(operators))


def _statement(subject: ModelSubject, island: FloatIsland, level: Level, group: str) -> Statement:
    graph, first = subject.model.graph, island.records[0].node
    share = share_of_macs(subject.model, island.records)
    part = f", {percent(share)} of the model's multiply-accumulates" if share >= SMALLEST else ""
    others = len(island.records) - 1
    who = f"{described(first)}" + (f" and {others} more node{'s' * (others > 1)}" if others else "")
    text = f"{who} {_does(island)} in float{part}, {_ends(graph, island)}."
    remedy = _remedy(graph, island)
    return Statement(
        text,
        node_location(graph.path, first),
        level=level,
        properties={"nodes": len(island.records), "share": round(share, 4)},
        group=group,
        remedy=remedy,
        brief_remedy=brief_advice(remedy),
        effect=min((EFFECTS[record.verdict] for record in island.records), key=lambda effect: effect.rank),
    )


def _does(island: FloatIsland) -> str:
    """What nodes do, which compute with reals, or with integers whose result has no scale."""
    alone = len(island.records) == 1
    results = {record.cause is Cause.FLOAT_RESULT for record in island.records}
    gives = "gives its result" if alone else "give their result"
    computes = "computes" if alone else "compute"
    return computes if results == {False} else gives if results == {True} else f"{computes} or {gives}"


LEFT_IN_FLOAT = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), "train a Conv over time, or convert the layer from Keras"),
}
"""Operators that no option of that quantizer quantizes, and what to do about each."""


_NO_KERNEL = Decision(Outcome.NO_KERNEL, Cause.NO_FUNCTION, "")
"""What becomes of some operators when they are quantized too."""


def _remedy(graph: Graph, island: FloatIsland) -> str:
    names = [canonical(record.node) for record in island.records]
    if any(operator_of(record.node).roles.sums is Sums.INTEGERS for record in island.records):
        option = "quantize_static of the float model with quant_format=QuantFormat.QDQ"
        return advice(graph, "Quantize to layers that give integers of a fixed scale", option)
    option = "leave them out of nodes_to_exclude, and name their operators in op_types_to_quantize"
    if any(parameters_of(node, 0) and parameters_of(node, -1) for node in graph.nodes):
        option = "quant_format=QuantFormat.QDQ"  # the format of operators has none for them
    kept = next((name for name in names if name in LEFT_IN_FLOAT), "")
    if kept:
        return f"ONNX Runtime's quantizer leaves {kept} in float: {LEFT_IN_FLOAT[kept]}."
    remedies = (known_remedy(graph, record.node, _NO_KERNEL) for record in island.records)
    without_kernel = next((remedy for remedy in remedies if remedy and SIZED not in remedy), "")
    return without_kernel or advice(graph, "Quantize what is between as well", option)


def _ends(graph: Graph, island: FloatIsland) -> str:
    begin = _listed([float_name(name) for name in island.first]) or "constants"
    outputs = any(name in graph.ends for name in island.last)
    end = _listed([float_name(name) for name in island.last]) or "nothing"
    return f"from {begin} to {end}{', which leaves the model as float' if outputs else ''}"


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:ENDS_NAMED]) + (", ..." if len(names) > ENDS_NAMED else "")
