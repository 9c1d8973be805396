"""How models are read into layers: tables, copies, formats, types. No compiler and no QEMU needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import example_models as models
from firmware_check.library import Library
from firmware_check.opening import OpenedModel, Options, open_model
from firmware_check.program import Quantization, Step
from firmware_check.reading.lookups import table_of
from firmware_check.reading.read import read_program
from firmware_check.reading.results import LayerResult
from onnxlint_cmsis.formats.onnx.load import load_model
from onnxlint_cmsis.lower.layout_copies import memory_layout
from onnxlint_cmsis.lower.lowering import lower
from support import firmware_models as more
from support import paths
from support import quantized_models as quantized
from support.draws import draws
from support.firmware_runs import data, needs_firmware
from support.firmware_signatures import EverythingLibrary
from support.goldens import Told

ALL = (-128, 127)


@given(st.floats(1e-3, 1), st.integers(-128, 127), st.floats(1e-3, 1), st.integers(-128, 127))
def test_a_table_is_the_function_of_every_integer(scale: float, zero: int, out_scale: float, out_zero: int) -> None:
    source, q = Quantization(scale, zero), Quantization(out_scale, out_zero)
    table = table_of(np.tanh, source, LayerResult("t", q, ALL))
    for integer in range(-128, 128):
        real = np.tanh((integer - zero) * scale)
        assert table[integer & 0xFF] == max(-128, min(127, round(real / out_scale) + out_zero))


def copied(step: Step, source: np.ndarray) -> np.ndarray:
    """What the reference code of a copy makes of memory."""
    places, offset = step.numbers["places"], step.numbers["offset"]
    assert isinstance(places, list)
    assert isinstance(offset, int)
    index = np.zeros((), np.int64)
    for size, stride in places:
        index = index[..., None] + np.arange(size) * stride
    return source.reshape(-1)[index.reshape(-1) + offset]


def rounded(source: str, target: str) -> list[onnx.NodeProto]:
    """QuantizeLinear and DequantizeLinear with the scale `k` and the zero-point `z`."""
    return [
        helper.make_node("QuantizeLinear", [source, "k", "z"], [f"{target}_q"]),
        helper.make_node("DequantizeLinear", [f"{target}_q", "k", "z"], [target]),
    ]


def sliced(folder: Path, bounds: list[tuple[int, int, int]]) -> str:
    """A quantized Slice between quantized tensors of a model that begins with a convolution."""
    starts, ends, steps = zip(*bounds, strict=True)
    constants = {"s": starts, "e": ends, "a": range(1, 1 + len(bounds)), "t": steps}
    nodes = [
        *rounded("x", "d"),
        helper.make_node("Slice", ["d", "s", "e", "a", "t"], ["c"], name="slice"),
        *rounded("c", "m"),
        helper.make_node("GlobalMaxPool", ["m"], ["g"], name="max"),
        *rounded("g", "y"),
    ]
    channels = len(range(6)[slice(*bounds[0])])
    path = models.save(folder, "sliced", nodes, ([1, 6, 5, 4], [1, channels, 1, 1]), {"k": np.array(0.5)})
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array(3, np.int8), "z"))
    model.graph.initializer.extend(numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items())
    onnx.save(model, path)
    return path


@st.composite
def ranges(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Bounds of a Slice of 6 x 5 x 4 that leave something on every axis."""
    kinds = []
    for size in (6, 5, 4):
        step = draw(st.sampled_from([-3, -2, -1, 1, 2, 3]))
        start, end = draw(st.integers(-9, 9)), draw(st.sampled_from([*range(-9, 10), (1 << 63) - 1, -(1 << 63)]))
        kinds.append((start, end, step) if len(range(size)[start:end:step]) else (0, size, 1))
    return kinds


@settings(max_examples=draws(40), deadline=None)
@given(ranges())
def test_a_slice_takes_what_numpy_takes(
    tmp_path_factory: pytest.TempPathFactory, bounds: list[tuple[int, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("slice")
    model = read_with_pools(sliced(folder, bounds), folder)
    step = next(step for step in model.program.steps if step.label == "slice")
    source = np.arange(-60, 60, dtype=np.float32).reshape(1, 6, 5, 4) / 2
    memory = step.inputs[0].to_memory(source)
    expected = model.reference.tensors(["c"], {"x": source})["c"]
    ours = step.output.from_memory(copied(step, memory))
    assert (ours == expected).all()


@pytest.mark.parametrize(
    ("factor", "size", "text"),
    [
        (2.0, 4, ""),
        (2.4, 4, "its coordinates do not repeat"),
        (1.5, 3, "reference code repeats elements a whole number"),
    ],
)
def test_only_whole_factors_repeat_each_element_equally(factor: float, size: int, text: str, tmp_path: Path) -> None:
    """Two by 2.4 are four elements, too, but the first stands three times."""
    nodes = [
        *rounded("x", "d"),
        helper.make_node("Resize", ["d", "", "f"], ["c"], name="resize", coordinate_transformation_mode="asymmetric",
                         nearest_mode="floor"),
        *rounded("c", "m"),
        helper.make_node("GlobalMaxPool", ["m"], ["g"], name="max"),
        *rounded("g", "y"),
    ]  # fmt: skip
    weights = {"k": np.array(0.5), "f": np.array([1, 1, factor, 1])}
    path = models.save(tmp_path, "grown", nodes, ([1, 3, 2, 4], [1, 3, 1, 1]), weights)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array(3, np.int8), "z"))
    onnx.save(model, path)
    program = read_with_pools(path, tmp_path).program
    assert text in dict(program.foreign).get("resize", "")
    steps = {step.label: step for step in program.steps}
    assert ("resize" in steps) == (not text)
    if not text:
        assert steps["resize"].output.shape == (1, 3, size, 4)


def read_with_pools(path: str, folder: Path) -> OpenedModel:
    """The model with the library of the installed wheel."""
    from firmware_check.library import open_library

    return open_model(path, open_library(""), Options({}), folder)


@pytest.mark.parametrize("signed", [True, False], ids=["int8", "uint8"])
def test_operators_on_integers_have_the_layers_of_their_qdq_form(signed: bool, tmp_path: Path) -> None:
    """The same calls, from the linter's lowering of the file itself, and the same constants as the QDQ file has."""
    from onnxlint_cmsis.formats.onnx.load import load
    from onnxlint_cmsis.lower.lowering import lower

    path = more.in_operator_format(models.residual(tmp_path), tmp_path, signed)
    steps = read_with_pools(path, tmp_path).program.steps
    calls = {layer.node.label: layer.call for layer in lower(load(path)).layers}
    assert {step.label: step.call for step in steps if step.call} == calls
    weighted = [step for step in steps if step.arrays]
    assert {step.op_type for step in weighted} == {"QLinearConv", "QGemm"}
    file = onnx.load(path)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in file.graph.initializer}
    for step in weighted:
        node = next(node for node in file.graph.node if node.name == step.label)
        bias = {"QLinearConv": 8, "QGemm": 6}[step.op_type]
        arrays = {array.name: array.values for array in step.arrays}
        assert (arrays["bias"] == tensors[node.input[bias]]).all()
        assert sorted(arrays["weights"]) == sorted(tensors[node.input[3]].reshape(-1))


def test_a_second_scale_behind_int16_does_not_run(tmp_path: Path, told: Told) -> None:
    """A layer that reads int16 and writes int8 is no layer of CMSIS-NN."""
    path = more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.int8), "narrow"))
    last = [node for node in model.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")][-2:]
    for node in last:
        node.input[2] = "narrow"
    onnx.save(model, path)
    reasons = dict(read_wide(path, tmp_path).program.foreign)
    told(reasons["softmax"])


def read_wide(path: str, folder: Path) -> OpenedModel:
    """The model with a library that has functions for int16."""
    from firmware_check.library import open_library

    copy = folder / "copy"
    shutil.copytree(open_library("").root, copy)
    shutil.copy(paths.DATA / "s16_stand_in.c", copy / "Source")
    return open_model(path, Library(copy, "4.0.0", (), ""), Options({}), folder)


def test_int16_with_a_zero_point_does_not_run(tmp_path: Path, told: Told) -> None:
    path = more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path)
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name == "x_zero_point":
            tensor.CopyFrom(numpy_helper.from_array(np.array(7, np.int16), "x_zero_point"))
    onnx.save(model, path)
    reasons = dict(read_wide(path, tmp_path).program.foreign)
    told(reasons["c0"])


def test_every_form_has_its_macros_and_its_operators() -> None:
    import re

    from firmware_check.emit import HERE
    from firmware_check.evidence.call_layer import TRANSPOSE
    from firmware_check.executorch_results import KINDS
    from firmware_check.reading.builders import OPERATORS
    from firmware_check.reading.forms import FORMS

    template = (HERE / "templates" / "forms.c.j2").read_text(encoding="utf-8")
    macros = set(re.findall(r"macro (\w+)\(step, name, library\)", template))
    called = {name for name, form in FORMS.items() if form.functions}
    of_programs = {kind.removeprefix("elementwise_") for kind in KINDS}
    assert TRANSPOSE in of_programs
    assert macros == called | {form.plain for form in FORMS.values() if form.plain} | of_programs
    used = {form for operator in OPERATORS.values() for form in operator.forms}
    assert used == set(FORMS)


@pytest.mark.parametrize("signed", [True, False], ids=["int8", "uint8"])
def test_scales_of_each_channel_come_with_the_operators_on_integers(signed: bool, tmp_path: Path) -> None:
    path = more.in_operator_format(models.multiplier(tmp_path, 3), tmp_path, signed)
    steps = read_with_pools(path, tmp_path).program.steps
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    nodes = {node.name: node for node in onnx.load(path).graph.node}
    for step, channels in zip(steps, (12, 5), strict=True):
        inputs = nodes[step.label].input
        real = tensors[inputs[1]] * tensors[inputs[4]].astype(np.float64) / tensors[inputs[6]]
        arrays = {array.name: array.values for array in step.arrays}
        ours = arrays["multipliers"] * 2.0 ** (arrays["shifts"] - 31)
        assert ours.shape == (channels,)
        assert np.allclose(ours, real, rtol=1e-6)


def squeezed(folder: Path) -> str:
    """Squeeze between a two-dimensional and a one-dimensional convolution, whose weights are quantized at run time."""
    nodes = [
        *rounded("x", "d"), *rounded("w2", "v2"), *rounded("w1", "v1"),
        helper.make_node("Conv", ["d", "v2"], ["a"], name="planar"),
        *rounded("a", "b"),
        helper.make_node("Squeeze", ["b", "axis"], ["c"], name="squeeze"),
        *rounded("c", "e"),
        helper.make_node("Conv", ["e", "v1"], ["f"], name="linear"),
        *rounded("f", "y"),
    ]  # fmt: skip
    weights = {"w2": np.full((4, 3, 1, 3), 1.3), "w1": np.full((2, 4, 3), -99.0), "k": np.array(0.5)}
    path = models.save(folder, "squeezed", nodes, ([1, 3, 1, 12], [1, 2, 8]), weights)
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.int8), "z"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([2], np.int64), "axis"))
    onnx.save(model, path)
    return path


def test_a_value_behind_a_reshape_has_the_name_and_shape_of_what_reshapes_it(tmp_path: Path) -> None:
    """It is moved twice; ONNX Runtime is asked for the layer from the Squeeze's result on."""
    steps = read_with_pools(squeezed(tmp_path), tmp_path).program.steps
    (source,) = next(step.inputs for step in steps if step.label == "linear")
    assert (source.tensor, source.shape) == ("e_q", (1, 4, 10))


def test_weights_that_are_quantized_at_run_time_are_constants(tmp_path: Path) -> None:
    steps = read_with_pools(squeezed(tmp_path), tmp_path).program.steps
    weights = {step.label: step.arrays[0].values for step in steps if step.arrays}
    assert {name: set(values.tolist()) for name, values in weights.items()} == {"planar": {3}, "linear": {-128}}


SIX_AXES = (1, 2, 2, 6, 2, 3)


def turned(scale: float, *others: str) -> quantized.Qdq:
    """A convolution, a Transpose of what a Reshape makes of its result, and what follows before it is rounded."""
    model = quantized.convolution()
    model = model.layer("Reshape", model.constant("sizes", np.array(SIX_AXES))).rounded(0.2)
    model = model.layer("Transpose", perm=[0, 1, 3, 2, 5, 4])
    for other in others:
        model = model.layer(other)
    return model.rounded(scale)


@pytest.mark.parametrize(
    ("scale", "others", "forms"),
    [
        (0.2, (), ["convolve", "reference_move"]),
        (0.1, (), ["convolve", "reference_move", "reference_requantize"]),
        (0.2, ("Relu",), ["convolve", "reference_move", "reference_requantize"]),
    ],
    ids=["the same scale", "another scale", "a clamp"],
)
def test_what_follows_a_transpose_is_computed_on_the_device(
    scale: float, others: tuple[str, ...], forms: list[str], tmp_path: Path
) -> None:
    """Nothing but the model's input is written by the host."""
    path = str(tmp_path / "turned.onnx")
    onnx.save(turned(scale, *others).model(), path)
    program = read_with_pools(path, tmp_path).program
    assert [value.tensor for value in program.inputs] == ["x"]
    assert [step.form for step in program.steps] == forms
    assert [value.quantization.scale for value in program.outputs] == [pytest.approx(scale)]


@needs_firmware
def test_a_transpose_with_another_scale_at_the_end_of_a_model_is_right(tmp_path: Path) -> None:
    path = str(tmp_path / "turned.onnx")
    onnx.save(turned(0.15).model(), path)
    (check,) = data(path)["checks"]
    assert (check["verdict"], check["not_run"]) == ("agrees", [])
    assert check["outputs"][0]["largest"] <= 2  # a step of the convolution is 1.3 of these


def behind_a_convolution(
    folder: Path, inner: list[onnx.NodeProto], weights: dict[str, np.ndarray], shape: list[int]
) -> str:
    """An int8 model that puts these nodes, from `a` to `y`, behind a convolution of 8 channels."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], "conv", pads=[1] * 4), *inner]
    generator = np.random.default_rng(0)
    constants = {"w": generator.normal(size=(8, 3, 3, 3)).astype(np.float32), **weights}
    graph = helper.make_graph(
        nodes,
        "turned",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 6, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(folder / "turned.onnx"))
    return more.quantized(str(folder / "turned.onnx"), folder)


ORDERS = {
    "rows of a product": (
        [helper.make_node("Reshape", ["a", "s"], ["b"], "r"), helper.make_node("MatMul", ["b", "m"], ["y"], "mm")],
        {"s": np.array([12, 32]), "m": np.ones((32, 5), np.float32)},
        [12, 5],
    ),
    "two orders joined": (
        [
            helper.make_node("Reshape", ["a", "s"], ["b"], "r"),
            helper.make_node("Transpose", ["a"], ["c"], "t", perm=[0, 2, 3, 1]),
            helper.make_node("Reshape", ["c", "s"], ["d"], "q"),
            helper.make_node("Concat", ["b", "d"], ["y"], "join", axis=1),
        ],
        {"s": np.array([1, 48, 8])},
        [1, 96, 8],
    ),
    "last axis": (
        [
            helper.make_node("Transpose", ["a"], ["b"], "t", perm=[0, 2, 3, 1]),
            helper.make_node("MatMul", ["b", "m"], ["y"], "mm"),
        ],
        {"m": np.ones((8, 5), np.float32)},
        [1, 6, 8, 5],
    ),
    "shuffle": (
        [
            helper.make_node("Reshape", ["a", "s"], ["b"], "r"),
            helper.make_node("Transpose", ["b"], ["c"], "t", perm=[0, 2, 1, 3, 4]),
            helper.make_node("Reshape", ["c", "u"], ["d"], "q"),
            helper.make_node("Conv", ["d", "v"], ["y"], "last"),
        ],
        {"s": np.array([1, 2, 4, 6, 8]), "u": np.array([1, 8, 6, 8]), "v": np.ones((4, 8, 1, 1), np.float32)},
        [1, 4, 6, 8],
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_linter_counts_the_copies_that_the_firmware_makes(name: str, tmp_path: Path) -> None:
    """The linter has a row for a Transpose that is a layer; the firmware makes it a view and then a copy."""
    path = behind_a_convolution(tmp_path, *ORDERS[name])
    graph = load_model(path).graph
    lowered = lower(graph)
    copies = memory_layout(graph, lowered).copies
    layers = [record for record in lowered.records if record.node.is_op("Transpose")]
    steps = [
        step for step in read_program(path, graph, EverythingLibrary("7.0.0")).steps if step.op_type == "Transpose"
    ]
    assert len(steps) == len(copies) + len(layers)
    assert sum(step.output.count for step in steps) == sum(copy.elements for copy in copies) + 384 * len(layers)
    if not layers:
        assert [step.numbers["places"] for step in steps] == [copy.places for copy in copies]
