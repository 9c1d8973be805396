"""Calls that planning prices at other sizes against those that the runtime's interpreter finds in the resized file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.cmsis_nn.library import Route, predicted, route
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.sites import Site, site_of
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.types import Dims, Freedom, KernelCall, Pair, Target
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.model.axes import Axis, AxisForm, resized
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflm.build import build_for
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from support import linter, paths
from support.draws import draws
from support.targets import target_of
from support.tflite_steps import random_chain

TARGET = target_of("cortex-m55", "main")
FOLDER = paths.SHARED / "models" / "tflite"
MODELS = sorted(FOLDER.glob("*.tflite"))


def with_sizes(model: ModelAnalysis, sizes: dict[int, int]) -> TfliteModel:
    """The file with other shapes, scales and options; constants keep their old bytes, which are not read here."""
    main = model.execution.file.subgraphs[0]
    tensors = tuple(_tensor(model, tensor, sizes) for tensor in main.tensors)
    operators = tuple(_operator(model, operator, sizes) for operator in main.operators)
    subgraph = main._replace(tensors=tensors, operators=operators)
    return model.execution.file._replace(subgraphs=(subgraph, *model.execution.file.subgraphs[1:]))


def _tensor(model: ModelAnalysis, tensor: TfliteTensor, sizes: dict[int, int]) -> TfliteTensor:
    axes = model.dimensions.axes(tensor.name)
    if axes is None:
        return tensor
    shape = tuple(resized(axis, sizes) or 0 for axis in axes)
    stored = tensor.quantization
    if stored is not None and len(stored.scales) > 1:
        count = shape[stored.axis if len(shape) > 1 else 0]
        stored = stored._replace(scales=stored.scales[:1] * count, zero_points=stored.zero_points[:1] * count)
    return tensor._replace(shape=shape, quantization=stored)


def _operator(model: ModelAnalysis, operator: TfliteOperator, sizes: dict[int, int]) -> TfliteOperator:
    (node,) = [node for node in model.graph.nodes if node.offset == operator.span.offset]
    options = dict(operator.options)
    for naming in model.dimensions.size_names:
        if naming.node == node.index and naming.attribute == "depth_multiplier":
            options[naming.attribute] = sum(resized(part, sizes) or 0 for part in naming.parts)
    return operator._replace(options=options)


def check(model: ModelAnalysis, sizes: dict[int, int]) -> int:
    """Compare all layers; how many had another size."""
    old = model.execution.report(TARGET, checks=False).operators
    build = build_for(model.settings.runtime, TARGET, checks=False)
    new = interpret(with_sizes(model, sizes), build).operators
    rows = {node.index: pair for node, *pair in zip(model.execution.nodes, old, new, strict=True) if node}
    changed = 0
    for layer in model.lowered.layers:
        site = site_of(layer, model.dimensions)
        before, after = rows[layer.node.index]
        if site is not None:
            channels = site.channels(sizes)
            assert channels is not None
            assert after.call == site.call(channels), layer.node.label
            assert after.functions == before.functions
            changed += after.call != before.call
        elif after.call != before.call:
            assert not layer.channels, layer.node.label
    return changed


def analysed(name: str, data: bytes | None = None) -> ModelAnalysis:
    """An analysis for one target."""
    return linter.analysed(Path(name) if data is None else data, name, targets=[TARGET.cpu])


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(-2, 5))
@settings(max_examples=draws(60), deadline=None)
def test_calls_of_random_models_at_other_sizes(seed: int, steps: int, more: int) -> None:
    model = analysed("a.tflite", random_chain(seed, steps))
    sizes = {
        group.id: max(group.size + more, 1) for group in model.dimensions.classes if group.freedom is not Freedom.LOCKED
    }
    check(model, sizes)


@pytest.mark.skipif(not MODELS, reason="needs the third-party models in a folder `shared` beside the project")
@pytest.mark.parametrize("more", [-1, 1, 4])
def test_calls_of_third_party_models_at_other_sizes(more: int) -> None:
    changed = 0
    for path in MODELS:
        model = analysed(str(path))
        names = [tensor.name for tensor in model.execution.file.subgraphs[0].tensors]
        if len(set(names)) < len(names) or len(model.execution.file.subgraphs) > 1:
            continue
        groups = [group for group in model.dimensions.classes if group.freedom is not Freedom.LOCKED]
        changed += check(model, {group.id: max(group.size + more, 1) for group in groups})
    assert changed > 100
    assert Path(FOLDER / "vww_96_int8.tflite") in MODELS


def test_prices_of_many_sizes_are_those_of_each_in_the_library_that_the_runtime_brings():
    """TensorFlow Lite Micro's CMSIS-NN is behind `main` in transposed convolutions."""
    runtime = runtime_of("tflm")
    call = KernelCall("transpose_conv_s8", Dims(1, 6, 6, 8), Dims(4, 3, 3, 8), Dims(1, 12, 12, 4), Pair(2, 2))
    assert runtime.library(call.entry, TARGET) != TARGET
    leaves = [Axis(AxisForm.LEAF, size, leaf) for leaf, size in enumerate((8, 4))]
    node = Node(0, "", "TRANSPOSE_CONV", TFLITE, 1, (), ())
    site = Site(Layer(node, call), leaves[0], leaves[1], 1)

    def routed(call: KernelCall, target: Target) -> Route:
        return route(call, runtime.library(call.entry, target))

    prices = Prices((TARGET,), predicted, routed, runtime.library)
    inputs = np.arange(8, 40)
    (column,) = prices.columns(site, inputs, np.full(len(inputs), 4))
    for index, size in enumerate(inputs):
        (single,) = prices.at(site, (int(size), 4))
        taken = column.routes[column.which[index]]
        assert (taken.kernel, taken.hazards) == (single.route.kernel, single.route.hazards)
        assert column.instructions[index] == (single.instructions or 0)


@given(st.integers(0, 2**31), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_which_functions_are_called_depends_on_no_target(seed: int, steps: int) -> None:
    model = linter.analysed(random_chain(seed, steps), "a.tflite", targets=["cortex-m4", "cortex-m55", "cortex-m0"])
    reports = [model.execution.report(target, checks=False) for target in model.settings.targets]
    called = {tuple((row.functions, row.call) for row in report.operators) for report in reports}
    assert len(called) == 1
