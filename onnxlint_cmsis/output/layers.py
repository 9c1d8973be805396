"""Rows of `onnxlint-cmsis layers`: one layer on one target, with its kernel or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.analysis.q_formats import ModelFormats
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, Freedom, Size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.classes import Dimensions
    from onnxlint_cmsis.analysis.q_formats import Measured
    from onnxlint_cmsis.analysis.tflite_analysis import TfliteAnalysis
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.cmsis_nn.time import PredictedTime
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.lower.layer import Channel, Decision, Layer
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.work import LayoutCopy
    from onnxlint_cmsis.model.graph import Graph, Node


Row = dict[str, object]
"""One layer on one target: its verdict, and the kernel or the `reason` why there is none."""


def layer_rows(model: ModelAnalysis, record: LoweredLayer, targets: Iterable[Target]) -> Iterator[Row]:
    """The rows of one node, a target each."""
    call = record.layer if record.call else None
    taken: dict[Target, Route] = dict(model.routes(call)) if call else {}
    for target in targets:
        yield _row(model, record, target, taken.get(target))


def copy_rows(model: ModelAnalysis, copy: LayoutCopy, targets: Iterable[Target]) -> Iterator[Row]:
    """The rows of a copy between memory orders, a target each; sizes are those of memory, before and after."""
    from onnxlint_cmsis.lower.layer import Cause, Verdict
    from onnxlint_cmsis.lower.work import MAY_GO
    from onnxlint_cmsis.operators.movement import TRANSPOSE

    for target in targets:
        found = model.copy_range(copy, target)
        yield {
            "node": copy.label,
            "op": TRANSPOSE.name,
            "target": target.label,
            "verdict": Verdict.PLAIN.value,
            "cause": Cause.LAYOUT.value,
            **_without_call(f"{copy.reason}; {MAY_GO}", None),
            "input": [size for size, _ in sorted(copy.places, key=lambda loop: -loop[1])],
            "output": [size for size, _ in copy.places],
            **({"instructions_range": list(found)} if found else {}),
        }


def _row(model: ModelAnalysis, record: LoweredLayer, target: Target, taken: Route | None) -> Row:
    from onnxlint_cmsis.lower.checks import on_release
    from onnxlint_cmsis.lower.layer import Verdict

    refusal = on_release(record, taken, target.release)
    row: Row = {
        "node": record.node.label,
        "op": record.node.op_type,
        "target": target.label,
        **_runtime(model, record),
        "verdict": (refusal.verdict if refusal else Verdict.CMSIS_NN).value,
        "cause": refusal.cause.value if refusal else "",
    }
    if record.layer is None or taken is None or (refusal and not taken.reason):
        without = _without_kernel(model.graph, record, refusal, _macs(model, record))
        plain = refusal is not None and refusal.verdict is Verdict.PLAIN
        return {**row, **without, **(_beside(model, record, target) if plain else {})}
    kernel = _with_kernel(model, record.layer, target, taken, _macs(model, record))
    return {**row, **kernel, "reason": refusal.reason if refusal else ""}


def _runtime(model: ModelAnalysis, record: LoweredLayer) -> Row:
    """What the runtime makes of a node; nothing where the application calls the functions itself."""
    if model.judged is None:
        return {}
    found = next(each for each in model.judged.layers if each.record.node is record.node)
    return {"runtime": found.verdict.value, "runtime_reason": found.reason}


def _macs(model: ModelAnalysis, record: LoweredLayer) -> int | None:
    """Multiply-accumulates of a node, as the totals count them; None where it has none, or a size is unknown."""
    return model.work[record.node.index].macs or (record.layer.macs if record.layer else None)


def _without_kernel(graph: Graph, record: LoweredLayer, refusal: Decision | None, macs: int | None) -> Row:
    """A node that CMSIS-NN has no kernel for, or that cannot be judged; the keys of `_with_kernel`."""
    call = record.layer.call if record.layer else None
    dims = call[1:4] if call else None
    source, filter_dims, result = map(_sizes, dims) if dims else _dims_of_node(graph, record.node)
    return {
        **_without_call(refusal.reason if refusal else "", macs),
        "input": source,
        "filter": filter_dims,
        "output": result,
        "folded": list(record.folded),
        "fused": [{"node": node.label, "op": node.op_type} for node in record.fused],
    }


def _without_call(reason: str, macs: int | None) -> Row:
    """What is said of a row that is no call, and that has no sizes, folded or fused nodes."""
    return {
        "entry": "",
        "assumed": False,
        "input": [None] * 4,
        "filter": [None] * 4,
        "output": [None] * 4,
        "folded": [],
        "fused": [],
        "kernel": "",
        "effective": "",
        "reason": reason,
        "macs": macs,
        "instructions": None,
        "scratch": None,
        "constants": None,
        "classes": {},
        "hazards": [],
        "undecided": [],
    }


def _dims_of_node(graph: Graph, node: Node) -> tuple[list[Size], ...]:
    """Input, filter and output of a node that is no kernel call; shapes of more than four axes as they are."""
    from onnxlint_cmsis.lower.layer import NO_DIMS, dims_of, operands_of

    names = ((*operands_of(node), *node.inputs)[0], node.outputs[0])
    source, result = (
        list(shape) if (shape := graph.shape(name)) and len(shape) > len(dims) else _sizes(dims)
        for name, dims in zip(names, dims_of(graph, *names), strict=True)
    )
    return source, _sizes(NO_DIMS), result


def _with_kernel(model: ModelAnalysis, layer: Layer, target: Target, taken: Route, macs: int | None) -> Row:
    from onnxlint_cmsis.cmsis_nn.cost import cost_of_route
    from onnxlint_cmsis.cmsis_nn.entry_points import parameters

    constants = parameters(layer.call, target)
    return {
        "entry": layer.call.entry,
        "assumed": layer.assumed,
        "input": _sizes(layer.call.input_dims),
        "filter": _sizes(layer.call.filter_dims),
        "output": _sizes(layer.call.output_dims),
        "folded": list(layer.folded),
        "fused": [{"node": node.label, "op": node.op_type} for node in layer.fused],
        "kernel": taken.kernel,
        "effective": taken.effective,
        "reason": "",
        "macs": macs,
        "instructions": cost_of_route(layer.call, target, taken),
        **_range(model, layer, target),
        "scratch": taken.buffer_size,
        "constants": constants.total if constants else None,
        "classes": _classes(model, layer),
        "hazards": [hazard.id for hazard in taken.hazards],
        "undecided": sorted(taken.undecided),
    }


def _range(model: ModelAnalysis, layer: Layer | None, target: Target) -> Row:
    """The least and the most instructions of a layer whose data decide; nothing for others."""
    found = model.instructions_range(layer.call, target) if layer else None
    return {"instructions_range": list(found)} if found else {}


def _beside(model: ModelAnalysis, record: LoweredLayer, target: Target) -> Row:
    """The least and the most instructions of the code beside CMSIS-NN; nothing where they are not known."""
    found = model.plain_range(record, target)
    return {"instructions_range": list(found)} if found else {}


def _sizes(dims: Dims) -> list[Size]:
    return [dims.n, dims.h, dims.w, dims.c]


def _classes(model: ModelAnalysis, layer: Layer) -> dict[str, str]:
    """Classes of each channel count: `12 COUPLED #3`, or `256 = 16 x 4 x 4: FREE #5` where it has structure."""
    found = {}
    for variable, channel in layer.channels.items():
        text = _class_text(model.dimensions, layer, variable, channel)
        if text:
            found[variable] = text
    return found


def _class_text(dimensions: Dimensions, layer: Layer, variable: str, channel: Channel) -> str:
    group = dimensions.class_of(channel.tensor, channel.axis)
    if variable == "ch_mult":
        group = dimensions.multiplier_class(layer.node.index)
    if group is not None:
        return f"{group.size} {group.freedom.value} #{group.id}"
    if variable == "ch_mult" or dimensions.axes(channel.tensor) is None:
        return ""
    groups = [dimensions.class_with_id(leaf) for leaf in dimensions.leaves(channel.tensor, channel.axis)]
    parts = [f"{group.freedom.value} #{group.id}" for group in groups if group is not None]
    return f"{dimensions.channel_text(channel.tensor, channel.axis)}: {', '.join(parts) or Freedom.LOCKED.value}"


def operator_row(model: ModelAnalysis, record: LoweredLayer | None, target: Target) -> Row:
    """What an operator computes and costs; `layer` is false for one that copies bytes at most.

    `once` is true for one that the first run alone computes; it costs later ones nothing.
    """
    from onnxlint_cmsis.lower.layer import Verdict

    layer = record.layer if record else None
    taken = model.route(layer.call, target) if layer else None
    plain = record is not None and record.verdict is Verdict.PLAIN
    return {
        "layer": record is not None,
        "once": record is not None and record.node.index in model.graph.once,
        "macs": model.work[record.node.index].macs if record else None,
        "instructions": model.cost(record, target) if record else None,
        **(_beside(model, record, target) if plain and record else _range(model, layer, target)),
        "classes": _classes(model, layer) if layer else {},
        "hazards": [hazard.id for hazard in taken.hazards] if taken else [],
    }


# Q-formats in the rows of `onnxlint-cmsis layers --api legacy`.


def with_formats(rows: list[Row], model: ModelAnalysis, calibration: str) -> list[Row]:
    """The rows with `q_format`, null for a node that is no call.

    Raises:
        CalibrationError: the calibration file cannot be read, does not fit, or the model does not run.

    """
    measured: Measured = {}
    if calibration:
        from onnxlint_cmsis.fixers.proof.models import tensor_ranges

        measured = tensor_ranges(model.data, model.settings.input_shapes, calibration)
    formats = ModelFormats(model.graph, model.lowered, model.read, measured).all()
    labels = {record.node.label: formats.get(record.node.index) for record in model.lowered.records}
    found = {label: each._asdict() if each else None for label, each in labels.items()}
    return [{**row, "q_format": found[str(row["node"])]} for row in rows]


# What `onnxlint-cmsis layers` shows: every layer of a model with the kernel that runs it, on every target.


class Total(NamedTuple):
    """What the layers of a model are and need together on one target."""

    target: str
    """Label of the target."""
    measured_on: str
    """CPU that the instructions were measured on, and the release where it is another than the target's."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number."""
    layers: int
    """How many layers have a number or a range."""
    unknown_layers: int
    """How many the sum leaves out."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts; of a `.tflite` file those of the constants in it."""
    scratch: int | None
    """Bytes of the largest scratch buffer; None where the runtime asks for unknown ones."""
    arena: int | None
    """Bytes of activations, at least; None where a size is unknown, and where `arena_used` says it exactly."""
    arena_used: int | None = None
    """Bytes of the arena of TensorFlow Lite Micro, to the byte; None for an ONNX model."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    copies: int = 0
    """Copies between memory orders, for which no node stands."""

    @property
    def cost_known(self) -> bool:
        """Whether the cost of a layer is known, or there is no layer."""
        return bool(self.layers) or not self.unknown_layers


class LayersReport(NamedTuple):
    """The layers of a model on every target."""

    rows: list[Row]
    """One row per layer and target, in file order, layers without a kernel too."""
    totals: list[Total]
    """The sums of each target."""
    names: Mapping[str, str]
    """Short forms of the layers' names, for people."""
    notes: tuple[str, ...] = ()
    """Which runtime and library the model is judged for; empty where the application calls the functions."""


def layers_report(
    path: str,
    settings: Settings,
    data: bytes | None = None,
    model: ModelAnalysis | None = None,
    calibration: str = "",
) -> LayersReport:
    """What `layers` shows of a file, or of `data` in its place; `model` is its analysis.

    `calibration` is a file of inputs that give the Q-formats of the legacy API. Raises ModelError, CalibrationError.
    """
    from onnxlint_cmsis.analysis.open_model import open_model

    model = model or open_model(path, settings.analysis, data)
    from onnxlint_cmsis.analysis.coverage import layer_names

    names = layer_names(model).names
    if is_tflite_path(path):
        return _operators_report(cast("TfliteAnalysis", model), names)
    from onnxlint_cmsis.runtimes.runtime import runtime_notes

    places = [(copy.node.index, copy_rows(model, copy, settings.targets)) for copy in model.copies]
    places += [(record.node.index, layer_rows(model, record, settings.targets)) for record in model.lowered.records]
    rows = [row for _, rows in sorted(places, key=lambda place: place[0]) for row in rows]
    if settings.api == "legacy":
        rows = with_formats(rows, model, calibration)
    notes = runtime_notes(settings.runtime, converted=True)
    return LayersReport(rows, _totals(model) if rows else [], names, notes)


def _operators_report(model: TfliteAnalysis, names: Mapping[str, str]) -> LayersReport:
    """The operators of a `.tflite` file, with what they compute and cost."""
    from onnxlint_cmsis.output.memory import operator_rows
    from onnxlint_cmsis.runtimes.runtime import runtime_notes

    records = {record.node.index: record for record in model.lowered.records}
    rows = []
    for found in operator_rows(model):
        record = records.get(found.node.index) if found.node else None
        rows.append({**found.row, **operator_row(model, record, found.target)})
    notes = (*runtime_notes(model.settings.runtime), *model.remarks_on_build)
    return LayersReport(rows, _totals(model) if rows else [], names, notes)


def layers_table(path: str, settings: Settings, data: bytes | None = None) -> list[Row]:
    """The rows alone. Raises ModelError."""
    return layers_report(path, settings, data).rows


def _totals(model: ModelAnalysis) -> list[Total]:
    """The sums of each target, as the summary of linting has them."""
    from onnxlint_cmsis.analysis.coverage import summarize

    summary, every = summarize(model), len(model.repeated)
    return [
        Total(
            target.target,
            target.measured_on,
            target.instructions,
            every - target.unknown_cost,
            target.unknown_cost,
            summary.macs,
            target.constants,
            target.scratch,
            summary.arena,
            target.arena_used,
            target.time,
            target.instructions_range,
            len(model.copies),
        )
        for target in summary.targets
    ]
