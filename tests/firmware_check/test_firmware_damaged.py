"""Damaged models in the reader of `firmware_check`: a sentence and exit code 2. No compiler and no QEMU needed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import example_models as models
from firmware_check import opening
from firmware_check.cli import main
from onnxlint_cmsis.fixers.proof import onnx_runtime
from support import firmware_models as more
from support import paths, tflite_models
from support.tflite_writer import write

pytestmark = pytest.mark.skipif(find_spec("bakenn") is None, reason="bakenn is not installed")
USERS = paths.SHARED / "cases" / "users"


def said(capfd: pytest.CaptureFixture[str], path: Path | str) -> str:
    """What is printed of a model that the check cannot run."""
    assert main([str(path)]) == 2
    output = capfd.readouterr()
    lines = [line for line in output.err.splitlines() if line.startswith("firmware_check: ")]
    assert (output.out, len(lines)) == ("", 1)
    assert "internal error" not in lines[0]
    return lines[0]


@pytest.fixture
def quantized(tmp_path: Path) -> onnx.ModelProto:
    """A convolution, quantized."""
    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    path = models.save(tmp_path, "conv", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3]), weights)
    return onnx.load(more.quantized(path, tmp_path))


def ended(_path: str) -> None:
    """What a model does that ONNX Runtime does not survive."""
    os.abort()


def stored(model: onnx.ModelProto, name: str) -> TensorProto:
    return next(tensor for tensor in model.graph.initializer if tensor.name == name)


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "damaged.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("more_bytes", [-1, 3])
def test_a_constant_of_another_length(
    more_bytes: int, quantized: onnx.ModelProto, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tensor = stored(quantized, "w_b_quantized")
    tensor.raw_data = tensor.raw_data[:more_bytes] if more_bytes < 0 else tensor.raw_data + bytes(more_bytes)
    told = said(capfd, saved(quantized, tmp_path))
    assert f"the model is damaged: tensor `w_b_quantized` has {16 + more_bytes} bytes of raw_data; int32 [4]" in told


@pytest.mark.parametrize("offset", ["", "-1", "99999"])
def test_external_data_outside_of_their_file(
    offset: str, quantized: onnx.ModelProto, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.data").write_bytes(bytes(8))
    tensor = stored(quantized, "w_b_quantized")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="some.data")
    tensor.external_data.add(key="offset", value=offset)
    assert "external data" in said(capfd, saved(quantized, tmp_path))


def test_a_dequantization_of_nothing(
    quantized: onnx.ModelProto, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    node = next(node for node in quantized.graph.node if node.op_type == "DequantizeLinear")
    del node.input[:]
    assert "no layer that CMSIS-NN can run" in said(capfd, saved(quantized, tmp_path))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0, 3e38])
def test_scales_that_are_no_scales(
    value: float, quantized: onnx.ModelProto, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for tensor in quantized.graph.initializer:
        if tensor.name.endswith("_scale"):
            shape = tuple(tensor.dims)
            tensor.CopyFrom(numpy_helper.from_array(np.full(shape, value, np.float32), tensor.name))
    said(capfd, saved(quantized, tmp_path))


def test_an_input_of_a_type_that_numpy_has_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT8E8M0, [1, 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    assert "input 'x' is float8e8m0, which numpy has not" in said(capfd, saved(model, tmp_path))


def test_a_float_model_of_more_nodes_than_are_quantized(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Functions that call each other made 4,096 nodes of a file of 1 KB, and quantizing them took minutes."""
    chain = [helper.make_node("Relu", [f"t{index}"], [f"t{index + 1}"]) for index in range(1001)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("t0", "t1001")]
    graph = helper.make_graph(chain, "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert "it has 1,001 nodes; a float model of up to 1,000 is quantized here" in said(capfd, saved(model, tmp_path))


def test_an_input_of_more_numbers_than_are_drawn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2**20, 3, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    told = "input 'x' has 9,437,184 numbers; inputs of up to 4,194,304 are drawn"
    assert told in said(capfd, saved(model, tmp_path))


@pytest.mark.parametrize(("times", "why"), [
    (28, "values; models of up to 134,217,728 are run"), (40, "has the size"),
])  # fmt: skip
def test_constants_that_double_are_not_computed(
    times: int, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime computed them when it opened the file: 1 KB took 3.2 GB."""
    nodes = [helper.make_node("Concat", [f"w{n}"] * 2, [f"w{n + 1}"], axis=0) for n in range(times)]
    nodes.append(helper.make_node("Add", ["x", f"w{times}"], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in (("x", [1]), ("y", None))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [helper.make_tensor("w0", TensorProto.FLOAT, [4], [1] * 4)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert why in said(capfd, saved(model, tmp_path))


def test_a_loop_without_end(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    """The quantizer ran it, and waited."""
    monkeypatch.setattr(onnx_runtime, "PATIENCE", 0.3)
    model = parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4] x) => (float[1, 4] y) <int64 turns = {1099511627776}> {
    y = Loop <body = b (int64 i, bool more, float[1, 4] s) => (bool same, float[1, 4] t) {
        same = Identity(more)
        t = Relu(s)
    }> (turns, , x)
}
""")
    assert "ONNX Runtime does not quantize it: a run takes more than 0.3 seconds" in said(capfd, saved(model, tmp_path))


def test_a_model_that_ends_onnx_runtime(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    """What ends its process there is another model in each release: a stand-in ends it as such a model does."""
    monkeypatch.setattr(opening, "_started", ended)
    path = models.save(tmp_path, "relu", [helper.make_node("Relu", ["x"], ["y"])], ([1, 4], [1, 4]), {})
    told = "ONNX Runtime, which every layer is compared with, ends its process with SIGABRT on it"
    assert told in said(capfd, path)


@pytest.mark.skipif(find_spec("ai_edge_litert") is None, reason="LiteRT is not installed")
@pytest.mark.skipif(not USERS.exists(), reason="the shared cases are not there")
def test_a_size_that_litert_makes_otherwise(capfd: pytest.CaptureFixture[str]) -> None:
    told = said(capfd, USERS / "vib_int8.tflite")
    assert "LiteRT makes [2, 1, 36, 12] of " in told
    assert "and the file says [1, 1, 36, 12], for which the device has room" in told


@pytest.mark.skipif(find_spec("ai_edge_litert") is None, reason="LiteRT is not installed")
def test_a_name_that_litert_cannot_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tensors = [tflite_models.tensor(name, [1, 4], scale=(0.1,)) for name in ("in_x", "in_z", "out")]
    data = write(tflite_models.one_operator("ADD", tensors, ("AddOptions", {})))
    path = tmp_path / "named.tflite"
    path.write_bytes(data.replace(b"in_x", b"in_\xff"))
    assert "LiteRT does not take the model: 'utf-8' codec can't decode byte 0xff" in said(capfd, path)
