"""Weights as arrays, in every form a file may keep them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.formats.onnx.load import load, load_model

SHAPE = (3, 5)
VALUES = np.arange(15).reshape(SHAPE) - 4
NAMES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "bfloat16": TensorProto.BFLOAT16,
    "int4": TensorProto.INT4,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint4": TensorProto.UINT4,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
}


def reader(model: str | bytes, path: str = "-") -> Callable[[str], np.ndarray | None]:
    """Constants of a file, or of bytes that come from a path."""
    if isinstance(model, bytes):
        return load_model(path, data=model).reader()
    return load_model(model).reader()


def wanted(name: str) -> np.ndarray:
    if name == "int4":
        return np.clip(VALUES, -8, 7)
    return np.abs(VALUES) if name.startswith("u") else VALUES


def model_of(*tensors: onnx.TensorProto, nodes: tuple[onnx.NodeProto, ...] = ()) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", [], [], list(tensors))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("copies", [1, 400])
def test_typed_lists_and_large_ones(name: str, copies: int) -> None:
    array = np.tile(wanted(name), (copies, 1))
    tensor = helper.make_tensor("w", NAMES[name], array.shape, array.reshape(-1).tolist())
    loaded = reader(model_of(tensor).SerializeToString())("w")
    assert loaded.shape == array.shape
    assert np.array_equal(loaded, array)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("bfloat16", "int4", "uint4")])
@pytest.mark.parametrize("copies", [1, 400])
def test_raw_data_from_a_file(tmp_path: Path, name: str, copies: int) -> None:
    array = np.tile(wanted(name), (copies, 1)).astype(name)
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(numpy_helper.from_array(array, "w")).SerializeToString())
    loaded = reader(str(path))("w")
    assert loaded.dtype == array.dtype
    assert np.array_equal(loaded, array)


def test_four_bits_of_raw_data_start_with_the_low_half() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.INT4, dims=[3], raw_data=bytes([0xF1, 0x08]))
    assert reader(model_of(tensor).SerializeToString())("w").tolist() == [1, -1, -8]


def test_values_beside_the_model(tmp_path: Path) -> None:
    array = np.arange(3000, dtype=np.float32)
    path = tmp_path / "m.onnx"
    onnx.save_model(
        model_of(numpy_helper.from_array(array, "w")), str(path), save_as_external_data=True, location="w.bin"
    )
    assert np.array_equal(reader(str(path))("w"), array)
    assert reader(path.read_bytes())("w") is None
    assert np.array_equal(reader(path.read_bytes(), str(path))("w"), array)
    (tmp_path / "w.bin").write_bytes(b"short")
    assert reader(str(path))("w") is None


def test_values_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(12000))
    (tmp_path / "in").mkdir()
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3000], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../w.bin")
    path = tmp_path / "in" / "m.onnx"
    path.write_bytes(model_of(tensor).SerializeToString())
    assert reader(str(path))("w") is None


def test_keys_of_constant_nodes_and_subgraphs_are_those_of_the_graph() -> None:
    inner = numpy_helper.from_array(np.arange(4.0), "w")
    branch = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])],
        "b",
        [],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [4])],
        [inner],
    )
    nodes = (
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.arange(600, dtype=np.int16))),
        helper.make_node("Constant", [], ["f"], value_floats=[1.0, 2.0]),
        helper.make_node("Constant", [], ["shape"], value_ints=[2, 3]),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"], value=helper.make_tensor("", 1, [1], [7.0])),
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["yes"], ["z"], "choice", then_branch=branch, else_branch=branch),
    )
    data = model_of(nodes=nodes).SerializeToString()
    read = reader(data)
    assert np.array_equal(read("k"), np.arange(600))
    assert read("f").tolist() == [1, 2]
    assert np.array_equal(read("zeros"), np.full((2, 3), 7))
    keys = [key for key in load("m.onnx", data=data).constants if key.endswith("/w")]
    assert len(keys) == 2
    assert all(np.array_equal(read(key), np.arange(4.0)) for key in keys)
    assert read("nowhere") is None


def test_sparse_tensors_come_dense() -> None:
    values = helper.make_tensor("w", TensorProto.INT64, [2], [5, 6])
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [1, 0])
    model = model_of()
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    assert reader(model.SerializeToString())("w").tolist() == [6, 5]


def test_strings_and_payloads_that_do_not_fit_are_not_read() -> None:
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])
    short = TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[3], raw_data=bytes(8))
    read = reader(model_of(text, short).SerializeToString())
    assert read("t") is None
    assert read("s") is None
