"""Layers of two versions are paired by what they compute, not by their number or the names around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, version_converter

from onnxlint_cmsis.analysis.pairing import LayerKey, layer_keys, paired
from onnxlint_cmsis.cli.engine import layers_report
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.output.comparison import ModelVersion, difference
from support.linter import analysed, linted
from support.models import text
from support.paths import SHARED

WIDTHS = (4, 8, 8, 6)
"""Channels of the input and behind each convolution."""
ORDER = (0, 1, 2)
OPTIONS = {"targets": ["cortex-m4"], "runtime": "direct"}


def net(widths: tuple[int, ...] = WIDTHS, order: tuple[int, ...] = ORDER, prefix: str = "") -> ModelProto:
    """Convolutions with a Relu behind each, of weights that belong to their number."""
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    tensor = "x"
    for position, number in enumerate(order):
        shape = (widths[position + 1], widths[position], 3, 3)
        weights = np.random.default_rng(number).normal(size=shape).astype(np.float32)
        conv, relu, stored = (f"{prefix}{kind}{number}" for kind in ("conv", "relu", "w"))
        constants.append(numpy_helper.from_array(weights, stored))
        nodes.append(helper.make_node("Conv", [tensor, stored], [conv], conv, pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [conv], [relu], relu))
        tensor = relu
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, widths[0], 8, 8))],
        [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def with_node(op_type: str, behind: str, **attributes: object) -> ModelProto:
    """The net with a node behind a tensor, and nameless nodes as the exporter's next run would number them."""
    model = net()
    nodes = model.graph.node
    at = next(number for number, node in enumerate(nodes) if behind in node.output)
    for node in [*nodes][at + 1 :]:
        node.input[:] = ["inserted" if name == behind else name for name in node.input]
    nodes.insert(at + 1, helper.make_node(op_type, [behind], ["inserted"], **attributes))
    return model


def without(node: str) -> ModelProto:
    """The net without a Relu."""
    model = net()
    gone = next(row for row in model.graph.node if row.name == node)
    model.graph.node.remove(gone)
    for row in model.graph.node:
        row.input[:] = [gone.input[0] if name == gone.output[0] else name for name in row.input]
    return model


def nameless(model: ModelProto) -> ModelProto:
    """The model whose nodes have no name, so that they go by their number."""
    for node in model.graph.node:
        node.name = ""
    return model


def fine_tuned() -> ModelProto:
    """The net with other weights under other names."""
    model = net(prefix="new_")
    for constant in model.graph.initializer:
        values = numpy_helper.to_array(constant) + np.float32(0.01)
        constant.CopyFrom(numpy_helper.from_array(values, constant.name))
    return model


class Version(NamedTuple):
    """A version of a model as pairing and comparing see it."""

    keys: list[LayerKey]
    """Key of each layer, in file order."""
    weights: list[str]
    """Name of the weights that each reads, or its operator."""
    model: ModelVersion
    """Its findings and layers."""


def version(model: ModelProto | Path, name: str = "m.onnx") -> Version:
    analysis = analysed(model, name, **OPTIONS)
    layers = layers_report(analysis.path, make_settings(analysis.path, **OPTIONS), None, analysis)
    keys = layer_keys(analysis)
    nodes = {record.node.label: record.node for record in analysis.lowered.records}
    rows = [row for row in layers.layers if row.computes]
    return Version(
        [keys[row.node]._replace(name=row.node, sizes=(row.input, row.output)) for row in rows],
        [nodes[row.node].inputs[1] or row.op for row in rows],
        ModelVersion(name, linted(model, name, **OPTIONS), layers, keys),
    )


def renamed(prefix: str) -> dict[str, str]:
    return {f"w{number}": f"{prefix}w{number}" for number in ORDER}


SQUARE = (4, 4, 4, 4)
EDITS: dict[str, tuple[Callable[[], ModelProto], Callable[[], ModelProto], dict[str, str]]] = {
    "insert": (net, lambda: with_node("Sigmoid", "relu0"), renamed("")),
    "remove": (lambda: with_node("Sigmoid", "relu1"), net, renamed("")),
    "fine-tune": (net, fine_tuned, renamed("new_")),
    "rename": (net, lambda: net(prefix="model/"), renamed("model/")),
    "reorder": (lambda: net(SQUARE), lambda: net(SQUARE, (1, 0, 2)), renamed("")),
    "widen": (net, lambda: net((4, 12, 8, 6)), renamed("")),
    "fuse": (net, lambda: without("relu0"), renamed("")),
    "split": (net, lambda: with_node("Identity", "conv1"), renamed("")),
    "another opset": (net, lambda: version_converter.convert_version(net(), 17), renamed("")),
    "transposed weights": (net, lambda: converted(net()), renamed("")),
}


def converted(model: ModelProto) -> ModelProto:
    """The model as a converter writes it that stores weights in another order and transposes them."""
    for constant in model.graph.initializer:
        values = np.ascontiguousarray(numpy_helper.to_array(constant).transpose(0, 2, 3, 1))
        constant.CopyFrom(numpy_helper.from_array(values, f"{constant.name}_ohwi"))
        model.graph.node.insert(
            0, helper.make_node("Transpose", [constant.name], [constant.name.removesuffix("_ohwi")], perm=[0, 3, 1, 2])
        )
    return model


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])
def test_an_edit_pairs_every_layer_that_is_still_there(edit: str, named: bool) -> None:
    before, after, expected = EDITS[edit]
    old, new = (version(build() if named else nameless(build())) for build in (before, after))
    pairs = {old.weights[first]: new.weights[second] for first, second in paired(old.keys, new.keys).items()}
    assert {key: value for key, value in pairs.items() if key in expected} == expected


def test_layers_behind_an_inserted_one_are_unchanged_with_their_findings() -> None:
    old, new = version(nameless(net())), version(nameless(with_node("Sigmoid", "relu0")))
    seen = difference(old.model, new.model)
    assert seen.stayed
    assert [(row.before, row.after.op if row.after else "") for row in seen.layers] == [(None, "Sigmoid")]
    assert seen.went == ()
    assert {finding.location.op_type for finding in seen.came} <= {"Sigmoid"}


def test_findings_at_weights_of_another_name_are_the_same_findings() -> None:
    """Advice on channels stands at the tensor that has them."""
    source = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 16, 16, 16] x) => (float[1, 8, 32, 32] y) <float[16, 8, 4, 4] w = {1}> {
    a = Relu(x)
    y = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1]>(a, w)
}"""
    old, new = version(text(source)), version(text(source.replace("w =", "other =").replace(", w)", ", other)")))
    assert any(finding.location.tensor == "w" for finding in old.model.result.told)
    seen = difference(old.model, new.model)
    assert (seen.came, seen.went) == ((), ())
    assert seen.stayed == len(old.model.result.told)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
def test_an_operator_in_front_of_a_converted_net_changes_no_layer_behind_it() -> None:
    folder = SHARED / "cases" / "users"
    old, new = (version(folder / name) for name in ("ae_int8.tflite", "ae_u8.tflite"))
    seen = difference(old.model, new.model)
    assert [(row.before, row.after.op if row.after else "") for row in seen.layers] == [(None, "QUANTIZE")] * 2
    (instructions,) = (figure for figure in seen.figures if figure.metric == "instructions")
    assert instructions.before == instructions.after
    assert not instructions.left_out
