"""Ten edits of three nets in three forms: every layer that an edit leaves is paired with itself, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from onnx import numpy_helper, parser

from onnxlint_cmsis.analysis.pairing import LayerKey, layer_keys, paired
from onnxlint_cmsis.cli.engine import layers_report
from onnxlint_cmsis.config.files import make_settings
from support.linter import analysed
from support.net_versions import Layer, Net, as_onnx, as_tflite

OPTIONS = {"targets": ["cortex-m4"]}
CHAIN = Net((
    Layer("stem", "conv", ("x",)), Layer("relu1", "relu", ("stem",)), Layer("middle", "conv", ("relu1",)),
    Layer("pool", "pool", ("middle",)), Layer("wide", "conv", ("pool",), 12), Layer("head", "conv", ("wide",), 8),
))  # fmt: skip
RESIDUAL = Net((
    Layer("stem", "conv", ("x",)), Layer("left", "conv", ("stem",)), Layer("relu1", "relu", ("left",)),
    Layer("first", "add", ("stem", "relu1")), Layer("right", "conv", ("first",)),
    Layer("second", "add", ("first", "right")), Layer("pool", "pool", ("second",)), Layer("head", "conv", ("pool",), 4),
))  # fmt: skip
BRANCHES = Net((
    Layer("stem", "conv", ("x",)), Layer("left", "conv", ("stem",)), Layer("right", "conv", ("stem",)),
    Layer("gate", "sigmoid", ("left",)), Layer("gate2", "sigmoid", ("right",)), Layer("pool", "pool", ("stem",)),
    Layer("join", "concat", ("gate", "gate2", "pool")), Layer("relu1", "relu", ("join",)),
    Layer("up", "conv", ("relu1",)), Layer("down", "conv", ("relu1",)), Layer("sum", "add", ("up", "down")),
))  # fmt: skip
NETS = {"chain": CHAIN, "residual": RESIDUAL, "branches": BRANCHES}
FORMS: dict[str, Callable[[Net], tuple[object, dict[str, str]]]] = {
    "float": as_onnx,
    "qdq": lambda net: as_onnx(net, qdq=True),
    "tflite": as_tflite,
}


def reading(layers: tuple[Layer, ...] | list[Layer], old: str, new: str) -> tuple[Layer, ...]:
    """The layers, of which those that read one layer read another one."""
    return tuple(
        row._replace(inputs=tuple(new if name == old and row.name != new else name for name in row.inputs))
        for row in layers
    )


def insert(net: Net, kind: str = "sigmoid") -> Net:
    """A layer behind the first one."""
    rows = reading(net.layers, "stem", "new")
    return replace(net, layers=(rows[0], Layer("new", kind, ("stem",)), *rows[1:]))


def fuse(net: Net) -> Net:
    """The Relu gone, as a converter does that clamps in the layer in front."""
    (gone,) = (row for row in net.layers if row.kind == "relu")
    return replace(net, layers=reading([row for row in net.layers if row is not gone], gone.name, gone.inputs[0]))


def split(net: Net) -> Net:
    """The last convolution as two of half the channels each, and a join."""
    last = [row for row in net.layers if row.kind == "conv"][-1]
    halves = [last._replace(name=f"{last.name}{half}", width=last.width // 2) for half in (1, 2)]
    rows: list[Layer] = []
    for row in net.layers:
        rows += [*halves, Layer("halves", "concat", (halves[0].name, halves[1].name))] if row is last else [row]
    return replace(net, layers=reading(rows, last.name, "halves"))


def widen(net: Net) -> Net:
    """The last convolution with more channels, and what is added to it too."""
    sums = {name for row in net.layers if row.kind == "add" for name in row.inputs}
    last = [row for row in net.layers if row.kind == "conv" and row.name not in sums]
    wider = {"up", "down"} if not last or net is BRANCHES else {last[-1].name}
    rows = (row._replace(width=row.width + 8) if row.name in wider else row for row in net.layers)
    return replace(net, layers=tuple(rows))


def reorder(net: Net) -> Net:
    """Independent layers in another order; where there are none, two of one size change places."""
    if net is not CHAIN:
        return replace(net, first=frozenset({"pool", "right", "gate2", "down"}))
    rows = {row.name: row for row in net.layers}
    rows["pool"], rows["middle"] = rows["pool"]._replace(inputs=("relu1",)), rows["middle"]._replace(inputs=("pool",))
    rows["wide"] = rows["wide"]._replace(inputs=("middle",))
    return replace(net, layers=tuple(rows.values()))


EDITS: dict[str, Callable[[Net], tuple[Net, Net]]] = {
    "insert": lambda net: (net, insert(net)),
    "insert one of a kind that is there": lambda net: (net, insert(net, "pool")),
    "remove": lambda net: (insert(net, "tanh"), net),
    "requantize": lambda net: (net, replace(net, per_channel=False, step=0.08)),
    "requantize and rename": lambda net: (net, replace(net, per_channel=False, step=0.08, names="model/{}/op")),
    "fine-tune and number": lambda net: (net, replace(net, noise=0.1, numbered=True)),
    "rename": lambda net: (net, replace(net, names="model/{}/op")),
    "reorder": lambda net: (net, reorder(net)),
    "reorder and requantize, with numbers": lambda net: (
        net,
        replace(reorder(net), numbered=True, per_channel=False, step=0.08),
    ),
    "reorder and fine-tune, with numbers": lambda net: (net, replace(reorder(net), numbered=True, noise=0.05)),
    "reorder by another converter": lambda net: (
        net,
        replace(reorder(net), numbered=True, transposed=True, per_channel=False),
    ),
    "widen": lambda net: (net, widen(net)),
    "fuse": lambda net: (net, fuse(net)),
    "split": lambda net: (net, split(net)),
    "another converter": lambda net: (net, replace(net, numbered=True, transposed=True, per_channel=False)),
    "another opset": lambda net: (net, replace(net, opset=17)),
    "all at once": lambda net: (
        net,
        replace(insert(net), numbered=True, transposed=True, per_channel=False, noise=0.05, step=0.08),
    ),
}


def version(form: str, net: Net) -> tuple[list[LayerKey], list[str]]:
    """Keys of the layers, and what each is."""
    model, makers = FORMS[form](net)
    name = "m.tflite" if form == "tflite" else "m.onnx"
    analysis = analysed(model, name, **OPTIONS)
    report = layers_report(analysis.path, make_settings(analysis.path, **OPTIONS), None, analysis)
    keys = layer_keys(analysis)
    rows = [row for row in report.layers if row.computes]
    names = [row.tensor if row.operator else row.node for row in rows]
    nodes = {record.node.label: record.node for record in analysis.lowered.records}
    pairs = zip(rows, names, strict=True)
    return (
        [keys[row.node]._replace(name=title, sizes=(row.input, row.output)) for row, title in pairs],
        [makers.get(nodes[row.node].outputs[0], row.op) for row in rows],
    )


def wrong(before: tuple[list[LayerKey], list[str]], after: tuple[list[LayerKey], list[str]]) -> list[tuple[str, str]]:
    """Layers of both versions that are not paired, and layers that are paired with another one of both."""
    (old, old_names), (new, new_names) = before, after
    pairs = {old_names[first]: new_names[second] for first, second in paired(old, new).items()}
    kept = {name for name in old_names if name in new_names}
    return [(name, pairs.get(name, "")) for name in old_names if name in kept and pairs.get(name) != name]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_pairs_every_layer_that_it_leaves(edit: str, net: str, form: str) -> None:
    before, after = (version(form, side) for side in EDITS[edit](NETS[net]))
    assert len(before[1]) >= 4
    assert wrong(before, after) == []


@pytest.mark.parametrize("net", NETS)
def test_another_format_pairs_every_layer(net: str) -> None:
    """The file that a converter makes of a quantized ONNX model, with numbers for names."""
    before, after = version("qdq", NETS[net]), version("tflite", replace(NETS[net], numbered=True))
    assert wrong(before, after) == []


POOLED = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4, 6, 6] x) => (float[1, 3] y) {
    c = Conv<pads = [1, 1, 1, 1]>(x, w)
    p = POOL(c)
    f = Flatten(p)
    y = DENSE(f, v)
}
"""


@pytest.mark.parametrize("pool", ["AveragePool<kernel_shape = [6, 6]>", "ReduceMean<axes = [2, 3]>"])
def test_operators_that_do_the_same_work_are_one_layer(pool: str) -> None:
    generator, sides = np.random.default_rng(0), []
    stored = [numpy_helper.from_array(generator.normal(size=shape).astype(np.float32), name)
              for name, shape in (("w", (8, 4, 3, 3)), ("v", (8, 3)))]  # fmt: skip
    for first, second in (("GlobalAveragePool", "MatMul"), (pool, "Gemm")):
        model = parser.parse_model(POOLED.replace("POOL", first).replace("DENSE", second))
        model.graph.initializer.extend(stored)
        sides.append(list(layer_keys(analysed(model, "m.onnx", **OPTIONS)).values()))
    assert paired(*sides) == {0: 0, 1: 1, 2: 2}
