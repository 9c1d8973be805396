"""Ranks, operator sets and permutations beyond what numpy and C integers take: findings, never an internal error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.library import instructions_range, predicted, route
from onnxlint_cmsis.ground.types import MAX_AXES, Dims, KernelCall
from onnxlint_cmsis.lower.dims import NO_DIMS
from onnxlint_cmsis.lower.folded_weights import folded
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.real_values import dequantized
from support import linter, models
from support.linter import layered
from support.models import read
from support.targets import target_of
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

COMMANDS = (
    *(("lint",), ("lint", "--runtime", "tflm"), ("lint", "--runtime", "executorch"), ("lint", "--runtime", "tvm")),
    *(("layers",), ("layers", "--api", "legacy"), ("memory",), ("widths",)),
)
RNG = np.random.default_rng(5)


def of_axes(count: int) -> onnx.TensorProto:
    """A constant of so many axes, more than numpy would make at times."""
    tensor = numpy_helper.from_array(RNG.normal(size=2).astype(np.float32), "c")
    del tensor.dims[:]
    tensor.dims.extend([*[1] * (count - 1), 2])
    return tensor


def model(op: str, shape: list[int], constants: list[onnx.TensorProto], opset: int = 13, **attributes: object):
    nodes = [helper.make_node(op, ["x", *(constant.name for constant in constants)], ["t"], **attributes)]
    nodes.append(helper.make_node("Relu", ["t"], ["y"]))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])]
    graph = helper.make_graph(nodes, "g", given, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def shape_of(count: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array([*[1] * (count - 1), 2], np.int64), "s")


MANY_AXES = {
    **{f"input of {count}": model("Abs", [1] * count, []) for count in (MAX_AXES, MAX_AXES + 1, 65, 300)},
    **{f"constant of {count}": model("Add", [2], [of_axes(count)]) for count in (MAX_AXES + 1, 65)},
    **{f"result of {count}": model("Reshape", [2], [shape_of(count)]) for count in (MAX_AXES + 1, 65)},
    **{f"permutation of {4 * n}": model("Transpose", [1, 2, 3, 4], [], perm=[0, 1, 2, 3] * n) for n in (2, 11)},
    "permutation that repeats": model("Transpose", [1, 2, 3, 4], [], perm=[0, 0, 1, 2]),
    **{f"operator set {n}": model("Abs", [2], [], opset=n) for n in (2**31 - 1, 2**31, 2**63 - 1, 0, -1, -(2**63))},
}


@pytest.mark.parametrize("name", MANY_AXES)
def test_no_number_is_an_internal_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(MANY_AXES[name].SerializeToString())
    before = path.read_bytes()
    for command, *options in COMMANDS:
        assert main([command, str(path), *options, "--isolated"]) in (0, 1, 2)
        assert "internal error" not in capsys.readouterr().err, (name, command, options)
    for option in ("--diff", "--fix"):
        main([str(path), option, "--isolated"])
        assert "internal error" not in capsys.readouterr().err, (name, option)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["input of 33", "constant of 33"])
def test_what_has_too_many_axes_is_named(name: str) -> None:
    graph = read(MANY_AXES[name])
    tensor = "x" if "input" in name else "c"
    assert graph.shape(tensor) is None
    text = f"`{tensor}` has 33 axes; tensors of up to 32 are followed"
    assert ("undecided", text) in [(problem.kind, problem.message) for problem in graph.problems]


def test_as_many_axes_as_are_followed_are_followed() -> None:
    graph = read(MANY_AXES["input of 32"])
    assert graph.shape("t") == (1,) * MAX_AXES
    assert not [problem for problem in graph.problems if problem.kind == "undecided"]


def qgemm(transposed: int, scales: int) -> onnx.ModelProto:
    """int8 weights of 6 rows and 4 columns, or turned, with `scales` scales."""
    weights = (np.arange(24, dtype=np.int8) - 9).reshape(6, 4)
    stored = {
        "as": np.float32(0.5),
        "az": np.int8(0),
        "b": np.ascontiguousarray(weights.T if transposed else weights),
        "bs": np.float32([0.5, 0.25, 1.0, 2.0][:scales]),
        "bz": np.array([1, -2, 0, 3][:scales], np.int8),
        "c": np.arange(4, dtype=np.int32),
        "ys": np.float32(0.5),
        "yz": np.int8(0),
    }
    names = ("a", "as", "az", "b", "bs", "bz", "c", "ys", "yz")
    node = helper.make_node("QGemm", names, ["y"], domain="com.microsoft", transB=transposed)
    given = [helper.make_tensor_value_info("a", TensorProto.INT8, [1, 6])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 4])]
    constants = [numpy_helper.from_array(value, name) for name, value in stored.items()]
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph([node], "g", given, outputs, constants), opset_imports=opsets, ir_version=8
    )


@pytest.mark.parametrize("transposed", [0, 1])
def test_scales_of_a_qgemm_lie_along_its_columns(transposed: int, tmp_path: Path) -> None:
    """The axis is that of the output channels: 1, or 0 with transB."""
    model = qgemm(transposed, 4)
    graph = read(model)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    (record,) = [record for record in lower(graph).records if record.weighted]
    weights = folded(graph, constants.get, record)
    assert weights is not None
    columns = constants["b"] if transposed else constants["b"].T
    expected = (columns.astype(float) - constants["bz"][:, None]) * constants["bs"][:, None]
    assert np.array_equal(weights.weights, expected)
    assert np.array_equal(weights.bias, constants["c"] * 0.5 * constants["bs"])
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    assert layered(path, api="legacy").rows


def test_scales_that_fit_no_axis_give_no_weights() -> None:
    """Three scales for four columns, and an axis outside: nothing is known, and nothing fails."""
    values = np.ones((6, 4))
    assert dequantized(values, np.ones(3), np.zeros(1), 1) is None
    assert dequantized(values, np.ones(4), np.zeros(6), 1) is None
    assert dequantized(values, np.ones(4), np.zeros(1), 5) is None
    assert dequantized(values, np.ones(1), np.zeros(4), -1) is not None
    model = qgemm(1, 3)
    graph = read(model)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    assert [folded(graph, constants.get, record) for record in lower(graph).records if record.weighted] in ([None], [])


@pytest.mark.parametrize("order", [(0, 0, 1, 2), (0, 1, 2, 3) * 11, (4, 0, 1, 2)])
def test_a_transpose_of_no_order_has_no_cost(order: tuple[int, ...]) -> None:
    """TensorFlow Lite Micro runs an order that repeats an axis; no loop of it was measured."""
    call = KernelCall("transpose_s8", Dims(1, 2, 3, 4), NO_DIMS, Dims(1, 2, 3, 4), permutation=order)
    for cpu in ("cortex-m4", "cortex-m55"):
        target = target_of(cpu, "7.0.0")
        assert not predicted(call, target, route(call, target)).known


@pytest.mark.parametrize("width", [3, 2**31, 2**62], ids=str)
@pytest.mark.parametrize("output", [-5, 3 - 2**31, 2**40], ids=str)
def test_a_window_beyond_its_input_or_memory_has_no_cost(width: int, output: int) -> None:
    channels = np.arange(4, 80, 2)  # a search asks for many sizes of a class at once
    several, single = (
        KernelCall("depthwise_s8", Dims(1, 9, 9, size), Dims(1, 3, width, size), Dims(1, 9, output, size))
        for size in (channels, 8)
    )
    for cpu in ("cortex-m0", "cortex-m4", "cortex-m55"):
        target = target_of(cpu, "7.0.0")
        assert not predicted(several, target, route(single, target)).known


@pytest.mark.parametrize("sizes", [(-2, 1, 1, 8), (1, -1, 1, 8), (1, 1, -7, 8), (1, 1, 1, -8)], ids=str)
@pytest.mark.parametrize("entry", ["softmax_s8", "softmax_s16", "convolve_wrapper_s8", "max_pool_s8"])
def test_a_negative_size_has_no_cost_and_no_range(entry: str, sizes: tuple[int, int, int, int]) -> None:
    call = KernelCall(entry, Dims(*sizes), Dims(1, 1, 1, 8) if "conv" in entry else NO_DIMS, Dims(*sizes))
    for cpu in ("cortex-m4", "cortex-m55"):
        target = target_of(cpu, "7.0.0")
        taken = route(call, target)
        assert not predicted(call, target, taken).known
        assert instructions_range(call, target, taken) is None


@pytest.mark.parametrize("release", ["7.0.0", "main"])
@pytest.mark.parametrize("entry", ["lstm_unidirectional_s8", "lstm_unidirectional_s16"])
def test_a_cell_without_sequences_takes_no_steps(entry: str, release: str) -> None:
    """A damaged state may say so. main takes one sequence after the other, and their number was divided by itself."""
    costs = []
    for sequences in (0, 1, 2):
        sizes = Dims(sequences, 1, 5, 8), NO_DIMS, Dims(sequences, 1, 5, 4)
        call, target = KernelCall(entry, *sizes, initial_state=False), target_of("cortex-m4", release)
        costs.append(predicted(call, target, route(call, target)).instructions)
    assert 0 < 2 * costs[0] < costs[1] < costs[2]


def test_a_cell_of_more_instructions_than_integers_hold_has_no_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cost was a number of 21 digits, and the search for sizes ended in an OverflowError."""
    path = tmp_path / "m.onnx"
    cell = models.text("""
<ir_version: 8, opset_import: ["" : 14]>
g (float[10, 1, 6] x) => (float[10, 1, 1, 8] y)
<float[1, 32, 6] w = {0.5}, float[1, 32, 8] r = {0.5}, float[1, 1, 8] h = {0.25}> {
    y = LSTM<hidden_size = 2147483648>(x, w, r, , , h)
}
""")
    path.write_bytes(cell.SerializeToString())
    report = layered(path, targets=["cortex-m4"])
    assert [row["instructions"] for row in report.rows] == [None]
    for command in COMMANDS:
        main([*command, str(path), "--isolated"])
        assert "internal error" not in capsys.readouterr().err, command


@pytest.mark.parametrize("damaged", ["scale", "shift", "mean", "variance"])
def test_a_normalization_of_other_channels_is_not_folded(damaged: str) -> None:
    sizes = {name: 3 if name == damaged else 4 for name in ("scale", "shift", "mean", "variance")}
    constants = {"w": np.ones((4, 2, 1, 1), np.float32), **{name: np.ones(n, np.float32) for name, n in sizes.items()}}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["t"]),
        helper.make_node("BatchNormalization", ["t", *sizes], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 5]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 5, 5]),
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = read(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], stored)))
    (record,) = [record for record in lower(graph).records if record.weighted]
    assert folded(graph, constants.get, record) is None


@pytest.mark.parametrize("channels", [2**31 - 1, 17, 0])
def test_a_pad_whose_sizes_contradict_each_other_is_a_finding(
    channels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The convolution reads 8 of the 16 channels that a Pad makes of so many others."""
    monkeypatch.chdir(tmp_path)
    amounts = {"name": "p", "shape": [4, 2], "type": "INT32", "buffer": 1}
    tensors = [
        tensor("x", [1, 1, 8, 4]), tensor("v", [16, 1, 1, 4], buffer=3), tensor("a", [1, 1, 8, 16]),
        tensor("b", [1, 1, 8, channels]), amounts, tensor("t", [1, 1, 10, 16]), tensor("w", [4, 1, 3, 16], buffer=2),
        tensor("y", [1, 1, 8, 4]),
    ]  # fmt: skip
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    operators = [
        {"opcode_index": 1, "inputs": [0, 1, -1], "outputs": [2], "builtin_options": ("Conv2DOptions", options)},
        {"opcode_index": 2, "inputs": [2, 2], "outputs": [3], "builtin_options": ("AddOptions", {})},
        {"opcode_index": 0, "inputs": [3, 4], "outputs": [5]},
        {"opcode_index": 1, "inputs": [5, 6, -1], "outputs": [7], "builtin_options": ("Conv2DOptions", options)},
    ]
    pads = np.array([0, 0, 0, 0, 1, 1, 0, 0], "<i4").tobytes()
    graph = {"tensors": tensors, "inputs": [0], "outputs": [7], "operators": operators}
    codes = [operator_code(op) for op in ("PAD", "CONV_2D", "ADD")]
    buffers = [{}, {"data": [*pads]}, {"data": [0, 3] * (4 * 3 * 8)}, {"data": [2] * 64}]
    Path("m.tflite").write_bytes(
        write({"version": 3, "operator_codes": codes, "subgraphs": [graph], "buffers": buffers})
    )
    model = linter.analysed(Path("m.tflite"))
    assert model.lanes().constants_of("a", 3).shape == (16,)
    assert main(["--isolated", "--target", "cortex-m4", "--diff", "m.tflite"]) in (0, 1)
    assert "internal error" not in capsys.readouterr().err
