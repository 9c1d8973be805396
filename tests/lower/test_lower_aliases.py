"""ONNX Runtime's forms of an operator are the operator that they stand for."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.ground.types import Freedom, KernelCall
from onnxlint_cmsis.lower.lowering import lower
from support.goldens import Told
from support.models import finished, one_node, read

MICROSOFT = "com.microsoft"


def call_of(model: onnx.ModelProto) -> KernelCall:
    layers = lower(read(model)).layers
    assert len(layers) == 1
    return layers[0].call


def test_fused_gemm_gets_the_call_of_gemm() -> None:
    weights = {"w": (4, 6), "b": (6,)}
    fused = one_node("FusedGemm", [2, 4], weights, MICROSOFT, activation="Relu")
    assert call_of(fused) == call_of(one_node("Gemm", [2, 4], weights))
    assert call_of(fused).entry == "fully_connected_s8"


def test_qlinear_conv_of_microsoft_gets_the_call_of_onnx() -> None:
    assert call_of(qlinear_conv(MICROSOFT)) == call_of(qlinear_conv(""))
    assert call_of(qlinear_conv("")).entry == "convolve_s8"


def test_qlinear_conv_with_channels_last_is_refused_with_the_reason() -> None:
    lowered = lower(read(qlinear_conv(MICROSOFT, channels_last=1)))
    assert lowered.layers == ()
    assert "channels are last" in lowered.foreign[0][1]


def test_fused_matmul_lets_its_channels_change() -> None:
    for swap in (0, 1):
        dimensions = between("FusedMatMul", MICROSOFT, swap)
        group = dimensions.class_of("first", 1)
        assert group is not None
        assert group.freedom is Freedom.FREE
        assert [layer.label for layer in group.readers] == ["second"]


def test_fused_matmul_that_moves_a_batch_axis_is_locked_with_the_reason(told: Told) -> None:
    model = read(one_node("FusedMatMul", [2, 4, 4], {"w": (2, 4, 6)}, MICROSOFT, transBatchA=1))
    told(lock.reason for lock in analyse(model).locks("x", 1))


def qlinear_conv(domain: str, **attributes: int) -> onnx.ModelProto:
    """A quantized convolution over int8 with 3 input and 5 output channels."""
    zero, scale = np.array(0, np.int8), np.array(0.1, np.float32)
    held = {"xs": scale, "xz": zero, "w": np.ones((5, 3, 3, 3), np.int8), "ws": scale, "wz": zero, "ys": scale}
    node = helper.make_node(
        "QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "xz"], ["y"], domain=domain, **attributes
    )
    graph = helper.make_graph(
        [node],
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 5, 6, 6])],
        [numpy_helper.from_array(value, name) for name, value in held.items()],
    )
    return finished(graph)


def between(op_type: str, domain: str, swap: int) -> Dimensions:
    """Classes of a MatMul whose result the operator multiplies, its weights swapped or not."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["first"], "first"),
        helper.make_node(op_type, ["first", "w2"], ["y"], "second", domain=domain, transB=swap),
    ]
    shape = (3, 6) if swap else (6, 3)
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.ones(size, np.float32), name) for name, size in (("w1", (4, 6)), ("w2", shape))],
    )
    return analyse(read(finished(graph)))
