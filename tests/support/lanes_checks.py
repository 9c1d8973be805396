"""What the lane analysis says of a model, against what ONNX Runtime computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.demand import Demand
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.known_lanes import fill_in
from onnxlint_cmsis.analysis.known_view import KnownView
from onnxlint_cmsis.analysis.lanes import Lanes, analyse_lanes
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.formats.onnx.load import load_model
from onnxlint_cmsis.model.graph import Graph
from support.dims_graphs import run
from support.linter import with_plan

Feed = Mapping[str, np.ndarray]


class Analysed(NamedTuple):
    """A model and what is said of it."""

    model: onnx.ModelProto
    graph: Graph
    dimensions: Dimensions
    lanes: Lanes
    read: Callable[[str], np.ndarray | None]


def analysed(model: onnx.ModelProto, disproved: Collection[tuple[str, int, int]] = ()) -> Analysed:
    data = model.SerializeToString()
    loaded = load_model("test.onnx", data=data)
    graph, read = loaded.graph, loaded.reader()
    dimensions = analyse(graph)
    return Analysed(model, graph, dimensions, analyse_lanes(graph, dimensions, read, disproved=disproved), read)


def observed(model: onnx.ModelProto, feed: Feed) -> dict[str, np.ndarray]:
    """Every tensor that a node of the main graph makes."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    del changed.graph.output[:]
    changed.graph.output.extend(helper.make_value_info(name, onnx.TypeProto()) for name in names)
    return dict(zip(names, run(changed, feed), strict=True))


def check_constants(analysis: Analysed, feed: Feed) -> int:
    """Every element that is said to be known has the value that is observed; returns how many there are."""
    count = 0
    for name, array in observed(analysis.model, feed).items():
        known = analysis.lanes.view.known(name)
        if known is None or array.dtype.kind not in "fiub":
            continue
        low, high, varies = (np.broadcast_to(bound, array.shape) for bound in known[:3])
        where = ~np.isnan(low)
        count += int((~varies).sum())
        values = array.astype(np.float64)[where]
        if array.dtype.kind == "f":
            room = 1e-12 * np.abs(values)
            assert ((low[where] - room <= values) & (values <= high[where] + room)).all(), name
        else:
            assert ((low[where] <= values) & (values <= high[where])).all(), name
            assert ((low == high) | varies).all(), name
    return count


def check_unread(analysis: Analysed, feed: Feed, seed: int = 0) -> int:
    """Elements that are said to be unread may hold anything; returns how many there are."""
    view = KnownView(analysis.graph, analysis.read)
    fill_in(view)
    masks = Demand(view).masks
    changed, count = onnx.ModelProto(), 0
    changed.CopyFrom(analysis.model)
    del changed.graph.node[:]
    outputs = {value.name for value in analysis.model.graph.output}
    shapes = {name: array for name, array in observed(analysis.model, feed).items() if array.dtype.kind in "fiu"}
    renamed: dict[str, str] = {}
    for node in analysis.model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [renamed.get(name, name) for name in node.input]
        changed.graph.node.append(copy)
        for name in node.output:
            array = shapes.get(name)
            if array is None or name in outputs or view.is_constant(name) or not array.size:
                continue
            mask = np.broadcast_to(masks.get(name, np.zeros((), bool)), array.shape)
            if mask.all():
                continue
            count += int((~mask).sum())
            renamed[name] = f"{name}/noisy"
            _add_noise(changed, name, mask, array.dtype, seed)
    for old, new in zip(run(analysis.model, feed), run(changed, feed), strict=True):
        assert np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
    return count


def _add_noise(model: onnx.ModelProto, name: str, mask: np.ndarray, dtype: np.dtype, seed: int) -> None:
    random = np.random.default_rng(seed)
    noise = random.uniform(-100, 100, mask.shape) if dtype.kind == "f" else random.integers(0, 127, mask.shape)
    constants = {"mask": mask, "noise": noise.astype(np.float32 if dtype.kind == "f" else np.int32)}
    for suffix, array in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), f"{name}/{suffix}"))
    wide = TensorProto.FLOAT if dtype.kind == "f" else TensorProto.INT32
    model.graph.node.extend(
        [
            helper.make_node("Cast", [name], [f"{name}/wide"], to=wide),
            helper.make_node("Where", [f"{name}/mask", f"{name}/wide", f"{name}/noise"], [f"{name}/mixed"]),
            helper.make_node("Cast", [f"{name}/mixed"], [f"{name}/noisy"], to=helper.np_dtype_to_tensor_dtype(dtype)),
        ]
    )


def without(analysis: Analysed, removed: Mapping[int, Collection[int]]) -> onnx.ModelProto:
    """The model without some lanes of some classes, their constants in the biases of who read them."""
    sizes = {leaf: analysis.dimensions.class_with_id(leaf).size for leaf in removed}
    kept = {leaf: tuple(lane for lane in range(sizes[leaf]) if lane not in removed[leaf]) for leaf in removed}
    return with_plan(
        analysis.model, analysis.graph, analysis.dimensions, Plan(kept, analysis.lanes.increments(removed))
    )


def check_removal(analysis: Analysed, removed: Mapping[int, Collection[int]], feed: Feed) -> None:
    """Outputs without the lanes are those with them: integers bit for bit."""
    for old, new in zip(run(analysis.model, feed), run(without(analysis, removed), feed), strict=True):
        if old.dtype.kind == "f":
            scale = max(1.0, float(np.abs(old).max(initial=0)))
            np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-5 * scale)
        else:
            assert np.array_equal(old, new)
