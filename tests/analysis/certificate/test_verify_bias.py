"""A bias or weights of another type than kernels read, and an int32 bias of which LiteRT reads 64 bits."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.runtimes.host.bounds import misread_bias
from onnxlint_cmsis.runtimes.host.difference import difference
from onnxlint_cmsis.runtimes.host.hosts import LITERT, REFERENCE
from onnxlint_cmsis.runtimes.host.layer import HostLayer
from onnxlint_cmsis.runtimes.tflm.interpret import wrong_operators
from support.targets import target_of
from support.tflite_fields import described
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.wide_sums import BIAS, OPTIONS, wide_sum


@pytest.mark.parametrize("more", ["", "INT32"])
@pytest.mark.parametrize("op", ["CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED"])
def test_litert_reads_past_a_bias_where_it_is_told(op: str, more: str) -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")
    data = wide_sum(op, more)
    loaded = TFLITE.load("m.tflite", data)
    graph, resolvers = loaded.graph, interpreter.OpResolverType
    layer = HostLayer(graph, graph.nodes[0], loaded.reader())
    for host, kernels in ((LITERT, resolvers.AUTO), (REFERENCE, resolvers.BUILTIN_REF)):
        runtime = interpreter.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
        runtime.allocate_tensors()
        feed = runtime.get_input_details()[0]
        runtime.set_tensor(feed["index"], np.zeros(feed["shape"], np.int16))
        runtime.invoke()
        result = runtime.get_tensor(runtime.get_output_details()[0]["index"]).reshape(-1, len(BIAS))[0]
        right = result.tolist() == [10, 0, 30, 0, 50, 0]
        assert right == (host not in misread_bias(graph, layer.node))
        assert right == (difference(layer, host).bound.steps is not None)


def test_litert_does_not_load_a_depthwise_layer_with_a_short_bias() -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")
    with pytest.raises(RuntimeError, match="kTfLiteInt64"):
        interpreter.Interpreter(model_content=wide_sum("DEPTHWISE_CONV_2D")).allocate_tensors()


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
@pytest.mark.parametrize("op", [*OPTIONS])
def test_a_bias_of_another_type_is_not_equal_and_wrong_on_the_device(op: str, kind: type) -> None:
    """TensorFlow Lite Micro's kernels ask for one type of bias, and read the file's as that."""
    device = pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    data = wide_sum(op, kind=kind)
    loaded = TFLITE.load("m.tflite", data)
    try:
        runtime = device.runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
        runtime.set_input(np.zeros(runtime.get_input_details(0)["shape"], np.int16), 0)
        runtime.invoke()
        right = np.array(runtime.get_output(0)).reshape(-1, len(BIAS))[0].tolist() == [10, 0, 30, 0, 50, 0]
    except RuntimeError:
        right = True  # it says that it does not run
    assert right == (not wrong_operators(loaded.file, target_of()))
    if kind is np.int16:
        assert not verify(loaded, TFLITE.load("m.tflite", wide_sum(op, kind=np.int64))).equal


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_a_bias_of_64_bits_under_sums_of_8_is_wrong(op: str) -> None:
    """Kernels read the halves of one number as two."""
    model = described(root_of(SCHEMA, wide_sum(op, kind=np.int64)))
    for held in model["subgraphs"][0]["tensors"]:
        if held["type"] == "INT16":
            held["type"] = "INT8"
    loaded = TFLITE.load("m.tflite", write(model))
    (wrong,) = wrong_operators(loaded.file, target_of())
    assert "is INT64, and the kernel reads INT32" in wrong.reason
    narrow = copy.deepcopy(model)
    for held in narrow["subgraphs"][0]["tensors"]:
        if held["type"] == "INT64":
            held["type"] = "INT32"
            narrow["buffers"][held["buffer"]]["data"] = [*np.array(BIAS, np.int32).tobytes()]
    right = TFLITE.load("m.tflite", write(narrow))
    assert not wrong_operators(right.file, target_of())
    assert not verify(right, loaded).equal


@pytest.mark.parametrize("op", [*OPTIONS])
def test_weights_of_another_type_are_not_equal(op: str) -> None:
    """LiteRT's kernels read int16 weights as int8, those of the device refuse them or do the same."""
    model = described(root_of(SCHEMA, wide_sum(op, kind=np.int64)))
    wide = copy.deepcopy(model)
    held = next(entry for entry in wide["subgraphs"][0]["tensors"] if entry["type"] == "INT8")
    held["type"] = "INT16"
    values = np.array(wide["buffers"][held["buffer"]]["data"], np.uint8).view(np.int8)
    wide["buffers"][held["buffer"]]["data"] = [*values.astype(np.int16).tobytes()]
    assert not verify(*(TFLITE.load("m.tflite", write(file)) for file in (model, wide))).equal


@pytest.mark.parametrize("op", ["ADD", "MUL", "MAXIMUM", "SUB"])
def test_a_constant_operand_of_another_type_is_not_equal(op: str) -> None:
    """Kernels read it as one of the type that the other operand has."""

    def model(kind: type) -> bytes:
        held = tensor("w", [1, 4], buffer=1, type=np.dtype(kind).name.upper())
        ends = [tensor(name, [1, 4]) for name in "xy"]
        options = None if op == "MAXIMUM" else (f"{op.capitalize()}Options", {})
        buffers = [{}, {"data": [*np.array([1, 2, 3, 4], kind).tobytes()]}]
        return write(one_operator(op, [ends[0], held, ends[1]], options, buffers=buffers))

    assert not verify(*(TFLITE.load("m.tflite", model(kind)) for kind in (np.int8, np.int16))).equal
