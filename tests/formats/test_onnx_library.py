"""ONNX's C++ code in a process apart, as with versions of onnx that damaged files crash: the same answers, no end."""

from __future__ import annotations

import os
import threading

import onnx
import pytest
from onnx import TensorProto, helper

from onnxlint_cmsis.formats.onnx import library
from onnxlint_cmsis.formats.onnx.checker import checker_problem
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, check_model, infer_shapes
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground import apart
from support import resizable_models
from support.versions import installed

BROKEN = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version of onnx is one that is not trusted."""
    library._guarded.cache_clear()
    monkeypatch.setattr(library, "TRUSTED", (99, 0))


def dequantized_of_unknown_type() -> bytes:
    """A DequantizeLinear of a tensor without type, at which inference of onnx 1.16.0 ends its process."""
    nodes = [
        helper.make_node("Unknown", ["x"], ["u"], domain="vendor"),
        helper.make_node("DequantizeLinear", ["u", "s"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.INT8, [1, 2])
    y = helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 2])
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("vendor", 1)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [scale]), opset_imports=opsets, ir_version=9)
    return model.SerializeToString()


@pytest.mark.usefixtures("guarded")
def test_a_process_apart_finds_the_same() -> None:
    model = resizable_models.integer_model().SerializeToString()
    assert infer_shapes(model) == onnx.shape_inference.infer_shapes(model)
    assert library._guarded.cache_info().currsize == 1
    check_model(model)
    assert checker_problem(model) is None


@pytest.mark.usefixtures("guarded")
def test_errors_come_with_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = resizable_models.integer_model()
    del proto.graph.node[0].input[:]
    damaged = proto.SerializeToString()
    there = checker_problem(damaged)
    monkeypatch.undo()
    assert there is not None
    assert there == checker_problem(damaged)


@pytest.mark.usefixtures("guarded")
def test_the_end_of_the_process_is_an_error_and_the_next_call_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    model = resizable_models.integer_model().SerializeToString()
    with monkeypatch.context() as patch:
        patch.setattr(apart, "STARTED", BROKEN)
        with pytest.raises(OnnxLibraryError, match=r"^onnx ended its process with "):
            infer_shapes(model)
        assert load("m.onnx", data=model).problems != ()  # its outputs have no shapes, and the checker no verdict
    assert infer_shapes(model) == onnx.shape_inference.infer_shapes(model)


def test_a_tensor_without_type_ends_nothing() -> None:
    graph = load("m.onnx", data=dequantized_of_unknown_type())
    assert [node.op_type for node in graph.nodes] == ["Unknown", "DequantizeLinear", "Relu"]
    assert graph.elem_type("y") == "float32"


def test_the_other_name_of_the_standard_domain_is_known() -> None:
    """onnx.checker of 1.16 to 1.20 rejects a model whose opset is that of `ai.onnx` and whose nodes name no domain."""
    proto = resizable_models.integer_model()
    assert load("m.onnx", data=proto.SerializeToString()).problems == ()
    for opset in proto.opset_import:
        opset.domain = opset.domain or "ai.onnx"
    assert load("m.onnx", data=proto.SerializeToString()).problems == ()


@pytest.mark.usefixtures("guarded")
def test_threads_take_turns() -> None:
    models = [
        resizable_models.integer_model().SerializeToString(),
        resizable_models.qdq_model(bias=True).SerializeToString(),
    ]
    expected = [onnx.shape_inference.infer_shapes(model) for model in models]
    wrong: list[int] = []

    def ask(number: int) -> None:
        wrong.extend(i for _ in range(20) for i in (number % 2,) if infer_shapes(models[i]) != expected[i])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.usefixtures("guarded")
def test_a_forked_process_asks_another_process() -> None:
    model = resizable_models.integer_model().SerializeToString()
    expected = infer_shapes(model)
    child = os.fork()
    if not child:
        os._exit(0 if infer_shapes(model) == expected and library._guarded.cache_info().currsize == 2 else 1)
    assert infer_shapes(model) == expected
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SLICED = """
<ir_version: 9, opset_import: ["" : 18]> g (float[9, 2, 3] x, seq(float[-5, 2]) q) => (float[M, K, L] y)
<int64[1] from = {-2}, int64[1] to = {9}, int64[1] axis = {0}, int64[1] less = {-5}, int64[2] parts = {-5, 14},
 float[3] huge = {1e30, 1, 1}, int64 first = {0}> { LAYERS y = Slice(a, from, to, axis) }
"""
BELOW_ZERO = {
    "window": "t = Transpose<perm = [1, 2, 0]>(x) p = MaxPool<kernel_shape = [30]>(t) a = Transpose(p)",
    "count": "a, i = TopK<axis = 0>(x, less)",
    "parts": "a, b = Split<axis = 0>(x, parts)",
    "scale": "a = Resize(x, , huge)",
    "padding": "p = Constant<value = int64[6] {-20, 0, 0, 0, 0, 0}>() a = Pad(x, p)",
    "attribute": "t = Flatten<axis = 1>(x) m = Multinomial<sample_size = -4>(t) a = Transpose(m)",
    "sequence": "a = SequenceAt(q, first)",
    "indices": "t, i = TopK(x, less) g = GatherND(x, i) a = Relu(x)",
}


@pytest.mark.parametrize("layers", BELOW_ZERO.values(), ids=BELOW_ZERO)
def test_a_negative_size_ends_no_run(layers: str) -> None:
    model = onnx.parser.parse_model(SLICED.replace("LAYERS", layers))
    try:
        infer_shapes(model.SerializeToString())
    except OnnxLibraryError as error:
        assert str(error).startswith("onnx ended its process with ")
    else:
        assert installed("onnx") < (1, 23)
    assert load("m.onnx", data=model.SerializeToString()).shape("x") == (9, 2, 3)


def test_a_negative_size_of_an_input_is_none_before_a_slice() -> None:
    model = onnx.parser.parse_model(SLICED.replace("LAYERS", "a = Relu(x)"))
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = -5
    assert load("m.onnx", data=model.SerializeToString()).shape("y") == (2, 2, None)
