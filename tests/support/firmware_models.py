"""Models in other formats than the examples: QOperator, int16 activations, operators beside CMSIS-NN's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import example_models as models


def one_layer(folder: Path) -> str:
    """A model of one convolution."""
    weights = models.with_biases({"w": models.filters(4, 3, 2, 2)})
    return models.save(folder, "one", [models.conv("x", "w", "y")], ([1, 3, 4, 4], [1, 4, 3, 3]), weights)


def quantized(path: str, folder: Path, **options: Any) -> str:
    """A float model of one input as ONNX Runtime quantizes it."""
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    shape = [dim.dim_value for dim in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    generator = np.random.default_rng(1)

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left: Iterator[dict[str, np.ndarray]] = iter(
                [{"x": generator.normal(size=shape).astype(np.float32)} for _ in range(4)]
            )

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.left, None)

    target = folder / f"{Path(path).stem}_{len(list(folder.iterdir()))}.onnx"
    settings = {"per_channel": True, "weight_type": QuantType.QInt8, **options}
    quantize_static(path, str(target), Reader(), **settings)
    return str(target)


def in_operator_format(path: str, folder: Path, signed: bool) -> str:
    """A float model in QOperator format, with int8 or uint8 activations; one scale for the weights of products."""
    from onnxruntime.quantization import QuantFormat, QuantType

    kind = QuantType.QInt8 if signed else QuantType.QUInt8
    dense = any(node.op_type in ("Gemm", "MatMul") for node in onnx.load(path).graph.node)
    return quantized(path, folder, quant_format=QuantFormat.QOperator, activation_type=kind, per_channel=not dense)


def in_sixteen_bits(path: str, folder: Path) -> str:
    """A float model with int16 activations without zero-points; average pooling keeps its scale."""
    from onnxruntime.quantization import QuantType

    from firmware_check.quantize import _dense_weights, _like_tflite

    one_scale = {name: [{"quant_type": QuantType.QInt8, "symmetric": True}] for name in _dense_weights(onnx.load(path))}
    extra = {"ActivationSymmetric": True, "TensorQuantOverrides": one_scale}
    target = quantized(path, folder, activation_type=QuantType.QInt16, extra_options=extra)
    model = onnx.load(target)
    _like_tflite(model, (np.float32(1 / 32768), np.int16(0)))
    onnx.save(model, target)
    return target


def sixteen(folder: Path) -> str:
    """A layer of each kind that CMSIS-NN has for int16."""
    nodes = [
        models.conv("x", "w0", "c0", pads=[1, 1, 1, 1]), models.relu("c0", "r0"),
        models.conv("r0", "d0", "c1", pads=[1, 1, 1, 1], group=4),
        helper.make_node("MaxPool", ["c1"], ["m"], name="max", kernel_shape=[2, 2], strides=[2, 2]),
        models.conv("m", "w1", "c2"),
        helper.make_node("Add", ["m", "c2"], ["a"], name="add"),
        helper.make_node("Mul", ["a", "c2"], ["b"], name="mul"),
        helper.make_node("GlobalAveragePool", ["b"], ["g"], name="avg"),
        helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w9", "w9_b"], ["l"], name="dense", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], name="softmax"),
    ]  # fmt: skip
    weights = models.with_biases(
        {"w0": models.filters(4, 3, 3, 3), "d0": models.filters(8, 1, 3, 3), "w1": models.filters(8, 8, 1, 1),
         "w9": models.filters(5, 8)}
    )  # fmt: skip
    return models.save(folder, "sixteen", nodes, ([1, 3, 6, 6], [1, 5]), weights)


def convolution(folder: Path, channels: int, outputs: int, kernel: int, **attributes: Any) -> str:
    """A pointwise convolution to so many channels and the convolution `y` of them."""
    size, groups = 6, attributes.get("group", 1)
    reach = attributes.get("dilations", [1])[0] * (kernel - 1)
    width = (size + 2 * attributes.get("pads", [0])[0] - reach - 1) // attributes.get("strides", [1])[0] + 1
    nodes = [models.conv("x", "w", "a"), models.conv("a", "v", "y", **attributes)]
    filters = {"w": models.filters(channels, 3, 1, 1), "v": models.filters(outputs, channels // groups, kernel, kernel)}
    shapes = [1, 3, size, size], [1, outputs, width, width]
    return models.save(folder, "convolution", nodes, shapes, models.with_biases(filters))


def classifier(folder: Path, depth: int, classes: int) -> str:
    """A dense layer of so many inputs and a softmax whose largest element is far above the others."""
    nodes = [
        models.conv("x", "w", "a"),
        helper.make_node("Flatten", ["a"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "v", "v_b"], ["l"], name="dense", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], name="softmax"),
    ]
    filters = {"w": models.filters(depth // 4, 3, 1, 1), "v": 40 * models.filters(classes, depth)}
    return models.save(folder, "classifier", nodes, ([1, 3, 2, 2], [1, classes]), models.with_biases(filters))


def beside(folder: Path) -> str:
    """Slices, an enlargement, tables, an operand that is broadcast: what reference code computes."""
    nodes = [
        models.conv("x", "w0", "c0", pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c0"], ["s"], name="sigmoid"),
        helper.make_node("Mul", ["c0", "s"], ["swish"], name="swish"),
        helper.make_node("GlobalAveragePool", ["swish"], ["g"], name="squeeze"),
        models.conv("g", "w1", "e"),
        helper.make_node("HardSigmoid", ["e"], ["h"], name="hard_sigmoid", alpha=0.25),
        helper.make_node("Mul", ["swish", "h"], ["scaled"], name="excite"),
        helper.make_node("Slice", ["scaled", "starts", "ends", "axes", "steps"], ["cut"], name="slice"),
        helper.make_node("Resize", ["cut", "", "factors"], ["grown"], name="resize", mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        helper.make_node("Div", ["grown", "two"], ["half"], name="half"),
        helper.make_node("LeakyRelu", ["half"], ["leaky"], name="leaky", alpha=0.1),
        helper.make_node("Tanh", ["leaky"], ["t"], name="tanh"),
        helper.make_node("AveragePool", ["t"], ["p"], name="counted", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                         count_include_pad=1),
        models.conv("p", "w2", "y"),
    ]  # fmt: skip
    weights = models.with_biases(
        {"w0": models.filters(4, 3, 3, 3), "w1": models.filters(4, 4, 1, 1), "w2": models.filters(2, 4, 1, 1)}
    )
    path = models.save(folder, "beside", nodes, ([1, 3, 6, 6], [1, 2, 6, 4]), weights)
    model = onnx.load(path)
    constants = {
        "starts": np.array([-1, 1]), "ends": np.array([-10, 5]), "axes": np.array([2, 3]), "steps": np.array([-2, 2]),
        "factors": np.array([1, 1, 2, 2], np.float32), "two": np.array(2, np.float32),
    }  # fmt: skip
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    onnx.save(model, path)
    return path


def branches(folder: Path) -> str:
    """Operators that the QOperator format has other forms for."""
    nodes = [
        models.conv("x", "w0", "c0", pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c0"], ["s"], name="sigmoid"),
        helper.make_node("LeakyRelu", ["c0"], ["l"], name="leaky", alpha=0.2),
        helper.make_node("Mul", ["s", "l"], ["m"], name="mul"),
        helper.make_node("Concat", ["m", "l", "s"], ["j"], name="concat", axis=1),
        helper.make_node("AveragePool", ["j"], ["a"], name="average", kernel_shape=[2, 2], strides=[2, 2]),
        models.conv("a", "w1", "c1"),
        helper.make_node("Transpose", ["c1"], ["t"], name="transpose", perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["t", "p"], ["q"], name="matmul"),
        helper.make_node("Softmax", ["q"], ["y"], name="softmax", axis=-1),
    ]
    weights = models.with_biases({"w0": models.filters(4, 3, 3, 3), "w1": models.filters(5, 12, 1, 1)})
    return models.save(folder, "branches", nodes, ([1, 3, 6, 6], [1, 3, 3, 7]), {**weights, "p": models.filters(5, 7)})


def every_form(folder: Path) -> str:
    """A float model whose layers take every form that has a call."""
    nodes = [
        models.conv("x", "w0", "c0", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c0"], ["m"], name="max", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Pad", ["m", "pads"], ["p"], name="pad", mode="constant"),
        models.conv("m", "d0", "c1", pads=[2, 2, 2, 2], group=4),
        helper.make_node("Add", ["p", "c1"], ["a"], name="add"),
        helper.make_node("Mul", ["a", "c1"], ["b"], name="mul"),
        helper.make_node("ConvTranspose", ["b", "t0", "t0_b"], ["u"], name="up", strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["u"], ["g"], name="avg"),
        helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w9", "w9_b"], ["l"], name="dense", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], name="softmax"),
    ]
    weights = models.with_biases(
        {"w0": models.filters(4, 3, 3, 3), "d0": models.filters(4, 1, 3, 3), "t0": models.filters(4, 4, 2, 2),
         "w9": models.filters(5, 4)}
    )  # fmt: skip
    path = models.save(folder, "forms", nodes, ([1, 3, 6, 6], [1, 5]), weights)
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads"))
    onnx.save(model, path)
    return path
