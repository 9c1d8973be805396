"""Every layer of a model on every target: verdict, kernel, sizes, cost and memory, and the sums of each target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.layer_times import time_of_copy, time_of_layer
from onnxlint_cmsis.analysis.q_formats import LayerFormat, ModelFormats
from onnxlint_cmsis.cmsis_nn.library import parameters
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, Size, Target
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.dims import NO_DIMS, dims_of
from onnxlint_cmsis.lower.layout_copies import MAY_GO, LayoutCopy
from onnxlint_cmsis.lower.operands import operands_of
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.real_ranges import Measured
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.interpretation import FileOperator, OperatorRow
    from onnxlint_cmsis.runtimes.judged_layers import JudgedLayer
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


class LayerReport(NamedTuple):
    """One layer, copy or operator on one target."""

    node: str
    """Label of its node; of a copy between memory orders, for which no node stands, the name of the copy."""
    op: str
    """Operator, in the file's words."""
    target: str
    """Label of the target."""
    verdict: Outcome
    """Who computes it: by the rules of CMSIS-NN; for an operator of a `.tflite` file by those of its runtime."""
    cause: Cause | None = None
    """Why CMSIS-NN does not, for programs; None where it does, and for an operator of a `.tflite` file."""
    reason: str = ""
    """Why the verdict is so, as a clause."""
    judged: JudgedLayer | None = None
    """What the runtime makes of a layer of an ONNX model; None where none is judged."""
    operator: OperatorRow | None = None
    """What the runtime does with an operator of a file that it reads as it is; None for an ONNX model."""
    tensor: str = ""
    """Tensor that such an operator writes first."""
    computes: bool = True
    """False for an operator that copies bytes at most, and is no layer."""
    once: bool = False
    """Whether the first run alone computes it: it costs later ones nothing."""
    entry: str = ""
    """Entry point of CMSIS-NN without `arm_`; empty where there is no call."""
    assumed: bool = False
    """Whether the model computes in float here, and the call is the one that the layer will become."""
    input: tuple[Size, ...] = NO_DIMS
    """Sizes of what it reads, NHWC where it has at most four axes; of an operator those that its file states."""
    filter: tuple[Size, ...] = NO_DIMS
    """Sizes of its weights, as the call has them."""
    output: tuple[Size, ...] = NO_DIMS
    """Sizes of what it writes, as those of its input."""
    folded: tuple[str, ...] = ()
    """Labels of Pad nodes whose padding the call includes."""
    fused: tuple[Node, ...] = ()
    """Nodes behind it that its kernel computes too."""
    kernel: str = ""
    """Kernel that is called; empty where there is none. For an operator of a `.tflite` file `effective` too."""
    effective: str = ""
    """Kernel that does the work; empty where there is none."""
    macs: int | None = None
    """Multiply-accumulates of a run; None where it has none, a size is unknown, or how often its loop turns."""
    instructions: int | None = None
    """Predicted instructions (not cycles) of a run; None where no one number is known."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, where data or compilers decide or other code computes it; None where unknown."""
    by_compiler: bool = False
    """Whether the range is over compilers that the target may mean; the number is that of the first."""
    time: PredictedTime | None = None
    """What it takes in each run at the target's clock; None without a clock, and where its cost is unknown."""
    scratch: int | None = None
    """Bytes of scratch, -1 for a size that the function reports as an error; of an operator those of all requests."""
    constants: int | None = None
    """Bytes of weights, bias, multipliers and shifts; None for an operator of a `.tflite` file."""
    classes: Mapping[str, str] = {}
    """Class of each channel count, by CMSIS-NN's name of the count."""
    hazards: tuple[str, ...] = ()
    """Known errors and wrong results of the call."""
    before: str = ""
    """Call that the application makes once before the first run, in C; empty where none is needed."""
    undecided: tuple[str, ...] = ()
    """Numbers that are not known and decide the kernel."""
    legacy: bool = False
    """Whether it is judged for the legacy API, whose calls have Q-formats."""
    q_format: LayerFormat | None = None
    """Q-formats of such a call."""
    error: float | None = None
    """What rounding changes in the result of a float layer, as a share of it; None where nobody measured."""

    @property
    def computed_by(self) -> str:
        """The kernel that does the work, or else the verdict."""
        return self.effective or self.kernel or self.verdict.value

    @property
    def ends(self) -> tuple[int, int] | None:
        """Least and most predicted instructions, equal for a single number; None where they are unknown."""
        return self.instructions_range if self.instructions is None else (self.instructions, self.instructions)

    @property
    def cost(self) -> str:
        """Predicted instructions as text: a number, a range, or `unknown`."""
        if self.instructions is not None and not self.by_compiler:
            return f"{self.instructions:,}"
        return "{:,} to {:,}".format(*self.instructions_range) if self.instructions_range else "unknown"


def layer_reports(model: ModelAnalysis) -> tuple[LayerReport, ...]:
    """A report of each layer and copy, or of each operator of a `.tflite` file, and target, in file order."""
    targets = model.settings.targets
    records = model.lowered.by_index
    if model.execution.reads_file:
        return tuple(
            _operator(model, operator, records.get(operator.node.index) if operator.node else None, target)
            for group in zip(*map(model.execution.operators, targets), strict=True)
            for operator, target in zip(group, targets, strict=True)
        )
    rows = [(copy.node.index, [_copy(model, copy, target) for target in targets]) for copy in model.copies]
    rows += [(index, _layer_on_targets(model, record)) for index, record in records.items()]
    return tuple(row for _, group in sorted(rows, key=lambda pair: pair[0]) for row in group)


def _operator(model: ModelAnalysis, operator: FileOperator, record: LoweredLayer | None, target: Target) -> LayerReport:
    row, node, layer = operator.row, operator.node, record.layer if record else None
    taken = model.route(layer.call, target) if layer else None
    kernel = row.chain[-1] if row.chain else ""
    ends = (node.inputs, node.outputs) if node else ((), ())
    source, result = (model.graph.shape(next(iter(tensors), "")) or () for tensors in ends)
    cost = model.cost(record, target, record.verdict) if record else None
    return LayerReport(
        row.label,
        row.op,
        target.label,
        row.verdict,
        reason=row.reason,
        operator=row,
        tensor=operator.tensor,
        computes=record is not None,
        once=record is not None and record.node.index in model.graph.once,
        input=source,
        output=result,
        kernel=kernel,
        effective=kernel,
        macs=model.work[record.node.index].macs if record else None,
        instructions=cost.instructions if cost else None,
        instructions_range=cost.range if cost else None,
        by_compiler=cost is not None and bool(cost.by_compiler),
        time=time_of_layer(model, record, target, record.verdict) if record else None,
        scratch=sum(row.scratch),
        classes=_classes(model, layer) if layer else {},
        hazards=tuple(hazard.id for hazard in taken.hazards) if taken else (),
    )


def _copy(model: ModelAnalysis, copy: LayoutCopy, target: Target) -> LayerReport:
    """A copy between memory orders; sizes are those of memory, before and after."""
    return LayerReport(
        copy.label,
        TRANSPOSE.name,
        target.label,
        Outcome.REFERENCE,
        Cause.LAYOUT,
        f"{copy.reason}; {MAY_GO}",
        input=tuple(size for size, _ in sorted(copy.places, key=lambda loop: -loop[1])),
        output=tuple(size for size, _ in copy.places),
        instructions_range=model.copy_range(copy, target),
        time=time_of_copy(model, copy, target),
    )


def _layer_on_targets(model: ModelAnalysis, record: LoweredLayer) -> list[LayerReport]:
    """Report a layer on each target, whose sizes are the same: how a node is laid out is a long search."""
    dims = record.layer.call[1:4] if record.layer else _dims_of_node(model.graph, record.node)
    return [_layer(model, record, target, dims) for target in model.settings.targets]


def _layer(
    model: ModelAnalysis, record: LoweredLayer, target: Target, dims: tuple[tuple[Size, ...], ...]
) -> LayerReport:
    layer = record.layer
    taken = model.route(layer.call, target) if layer and record.call else None
    refusal = model.refusal(record, target)
    verdict = refusal.verdict if refusal else Outcome.CMSIS_NN
    cost = model.cost(record, target, verdict)
    source, filter_dims, result = dims
    report = LayerReport(
        record.node.label,
        record.node.op_type,
        target.label,
        verdict,
        refusal.cause if refusal else None,
        refusal.reason if refusal else "",
        judged=model.judgement(record, target),
        input=source,
        filter=filter_dims,
        output=result,
        folded=record.folded,
        fused=record.fused,
        macs=model.work[record.node.index].macs or None,
        instructions=cost.instructions,
        instructions_range=cost.range,
        by_compiler=bool(cost.by_compiler),
        time=time_of_layer(model, record, target, verdict),
    )
    if layer is None or taken is None or (refusal and taken.kernel):
        return report
    constants = parameters(layer.call, target)
    duty = model.execution.duty(layer.call, target) if taken.kernel else None
    return report._replace(
        before=duty.call(target.release) if duty else "",
        entry=layer.call.entry,
        assumed=layer.assumed,
        kernel=taken.kernel,
        effective=taken.effective,
        scratch=taken.buffer_size,
        constants=constants.total if constants else None,
        classes=_classes(model, layer),
        hazards=tuple(hazard.id for hazard in taken.hazards),
        undecided=tuple(sorted(taken.undecided)),
    )


def _dims_of_node(graph: Graph, node: Node) -> tuple[tuple[Size, ...], ...]:
    """Input, filter and output of a node that is no kernel call; shapes of more than four axes as they are."""
    names = ((*operands_of(node), *node.inputs)[0], node.outputs[0])
    source, result = (
        shape if (shape := graph.shape(name)) and len(shape) > len(dims) else dims
        for name, dims in zip(names, dims_of(graph, *names), strict=True)
    )
    return source, NO_DIMS, result


def _classes(model: ModelAnalysis, layer: Layer) -> dict[str, str]:
    """Classes of each channel count: `12 COUPLED #3`, or `256 = 16 x 4 x 4: FREE #5` where it has structure."""
    texts, dimensions = {}, model.dimensions
    for variable, channel in layer.channels.items():
        multiplier, axis = variable == "ch_mult", (channel.tensor, channel.axis)
        group = dimensions.multiplier_class(layer.node.index) if multiplier else dimensions.class_of(*axis)
        if group is not None:
            texts[variable] = f"{group.size} {group.freedom.value} #{group.id}"
        elif not multiplier and dimensions.axes(channel.tensor) is not None:
            groups = map(dimensions.class_with_id, dimensions.leaves(*axis))
            parts = ", ".join(f"{leaf.freedom.value} #{leaf.id}" for leaf in groups if leaf is not None)
            texts[variable] = f"{dimensions.channel_text(*axis)}: {parts or Freedom.LOCKED.value}"
    return texts


def with_formats(layers: tuple[LayerReport, ...], model: ModelAnalysis, measured: Measured) -> tuple[LayerReport, ...]:
    """The layers with the Q-formats of calls of the legacy API, from the ranges of tensors that were measured."""
    formats = ModelFormats(model.graph, model.lowered, model.read, measured).all()
    by_label = {record.node.label: formats.get(record.node.index) for record in model.lowered.records}
    return tuple(layer._replace(legacy=True, q_format=by_label[layer.node]) for layer in layers)


def with_errors(
    layers: tuple[LayerReport, ...], model: ModelAnalysis, errors: Mapping[int, float]
) -> tuple[LayerReport, ...]:
    """The layers with what each loses by rounding, by index of the node."""
    by_label = {record.node.label: errors.get(record.node.index) for record in model.lowered.records}
    return tuple(layer._replace(error=by_label.get(layer.node)) for layer in layers)
