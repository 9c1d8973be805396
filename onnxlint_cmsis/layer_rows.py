"""Rows of `onnxlint-cmsis layers`: one layer on one target, with its kernel or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.types import Dims, Freedom, Size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.dims.result import Dimensions
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.layer import Channel, Layer
    from onnxlint_cmsis.lower.layout_copies import LayoutCopy
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.verdict import Decision
    from onnxlint_cmsis.types import Target

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
    from onnxlint_cmsis.lower.layout_copies import MAY_GO
    from onnxlint_cmsis.lower.verdict import Cause, Verdict
    from onnxlint_cmsis.operators.shaping_operators import TRANSPOSE

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
    from onnxlint_cmsis.lower.release_verdict import on_release
    from onnxlint_cmsis.lower.verdict import Verdict

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
    from onnxlint_cmsis.lower.layout import NO_DIMS, dims_of
    from onnxlint_cmsis.lower.operands import operands_of

    names = ((*operands_of(node), *node.inputs)[0], node.outputs[0])
    source, result = (
        list(shape) if (shape := graph.shape(name)) and len(shape) > len(dims) else _sizes(dims)
        for name, dims in zip(names, dims_of(graph, *names), strict=True)
    )
    return source, _sizes(NO_DIMS), result


def _with_kernel(model: ModelAnalysis, layer: Layer, target: Target, taken: Route, macs: int | None) -> Row:
    from onnxlint_cmsis.cmsis_nn.cost import cost_of_route
    from onnxlint_cmsis.cmsis_nn.parameters import parameters

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
    from onnxlint_cmsis.lower.verdict import Verdict

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
