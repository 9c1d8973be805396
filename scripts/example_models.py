"""Small float models with what a fix finds, and models that the firmware check has to see through.

Usage: python scripts/example_models.py FOLDER     writes the examples that the firmware workflow fixes and runs
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Numbers = NDArray[Any]
Weights = dict[str, Numbers]


def save(
    folder: Path, name: str, nodes: list[onnx.NodeProto], shapes: tuple[list[int], list[int]], weights: Weights
) -> str:
    """Write a model of one input `x` and one output `y`."""
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", 1, shapes[0])],
        [helper.make_tensor_value_info("y", 1, shapes[1])],
        [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items()],
    )  # fmt: skip
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return str(path)


def conv(source: str, weights: str, target: str, **attributes: Any) -> onnx.NodeProto:
    """A Conv node named after its output."""
    return helper.make_node("Conv", [source, weights, f"{weights}_b"], [target], name=target, **attributes)


def relu(source: str, target: str) -> onnx.NodeProto:
    """A Relu node."""
    return helper.make_node("Relu", [source], [target], name=target)


def filters(*shape: int, seed: int = 0) -> Numbers:
    """Random weights."""
    return np.asarray(np.random.default_rng(seed).normal(size=shape) / np.sqrt(np.prod(shape[1:])))


def with_biases(weights: Weights) -> Weights:
    """Each weight with a bias of one value per output channel."""
    biases: Weights = {
        f"{key}_b": np.asarray(np.random.default_rng(9).normal(size=value.shape[0]) * 0.1)
        for key, value in weights.items()
    }
    return {**weights, **biases}


def mobilenet(folder: Path) -> str:
    """Strided convolution, two separable blocks, global average pooling, fully connected, softmax."""
    nodes = [
        conv("x", "w0", "c0", pads=[1, 1, 1, 1], strides=[2, 2]), relu("c0", "r0"),
        conv("r0", "d1", "c1", pads=[1, 1, 1, 1], group=6), relu("c1", "r1"),
        conv("r1", "p1", "c2"), relu("c2", "r2"),
        conv("r2", "d2", "c3", pads=[1, 1, 1, 1], strides=[2, 2], group=12), relu("c3", "r3"),
        conv("r3", "p2", "c4"), relu("c4", "r4"),
        helper.make_node("GlobalAveragePool", ["r4"], ["g"], name="pool"),
        helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w9", "w9_b"], ["l"], name="logits", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], name="softmax", axis=-1),
    ]  # fmt: skip
    weights = {
        "w0": filters(6, 3, 3, 3), "d1": filters(6, 1, 3, 3), "p1": filters(12, 6, 1, 1), "d2": filters(12, 1, 3, 3),
        "p2": filters(16, 12, 1, 1), "w9": filters(5, 16),
    }  # fmt: skip
    return save(folder, "mobilenet", nodes, ([1, 3, 16, 16], [1, 5]), with_biases(weights))


def residual(folder: Path) -> str:
    """Two convolutions around an addition, with a 1x1 shortcut, then a flattened plane into a fully connected layer."""
    nodes = [
        conv("x", "w0", "c0", pads=[1, 1, 1, 1]), relu("c0", "r0"),
        conv("r0", "w1", "c1", pads=[1, 1, 1, 1], strides=[2, 2]), relu("c1", "r1"),
        conv("r1", "w2", "c2", pads=[1, 1, 1, 1]),
        conv("r0", "w3", "c3", strides=[2, 2]),
        helper.make_node("Add", ["c2", "c3"], ["a"], name="add"), relu("a", "r2"),
        helper.make_node("MaxPool", ["r2"], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["m"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w9", "w9_b"], ["y"], name="logits", transB=1),
    ]  # fmt: skip
    weights = {
        "w0": filters(4, 3, 3, 3), "w1": filters(8, 4, 3, 3), "w2": filters(8, 8, 3, 3), "w3": filters(8, 4, 1, 1),
        "w9": filters(4, 8 * 2 * 2),
    }  # fmt: skip
    return save(folder, "residual", nodes, ([1, 3, 8, 8], [1, 4]), with_biases(weights))


def one_dimensional(folder: Path) -> str:
    """Three convolutions over time: strided, wide, pointwise."""
    nodes = [
        conv("x", "w0", "c0", pads=[2, 2], strides=[1]), relu("c0", "r0"),
        conv("r0", "w1", "c1", pads=[1, 1], strides=[2]), relu("c1", "r1"),
        conv("r1", "w2", "y"),
    ]  # fmt: skip
    weights = {"w0": filters(4, 3, 5), "w1": filters(8, 4, 3), "w2": filters(6, 8, 1)}
    return save(folder, "one_dimensional", nodes, ([1, 3, 32], [1, 6, 16]), with_biases(weights))


def multiplier(folder: Path, size: int) -> str:
    """A depthwise layer of 4 channels with multiplier 3, or padded to more with lanes that nothing reads."""
    live = with_biases({"d": filters(12, 1, 3, 3), "p": filters(5, 12, 1, 1)})
    wide: Weights = {
        **live,
        "d": np.zeros((4 * size, 1, 3, 3)),
        "d_b": np.zeros(4 * size),
        "p": np.zeros((5, 4 * size, 1, 1)),
    }
    for lane in range(12):
        wide_lane = lane // 3 * size + lane % 3
        wide["d"][wide_lane], wide["d_b"][wide_lane] = live["d"][lane], live["d_b"][lane]
        wide["p"][:, wide_lane] = live["p"][:, lane]
    nodes = [conv("x", "d", "depthwise", pads=[1, 1, 1, 1], group=4), relu("depthwise", "r"), conv("r", "p", "y")]
    return save(folder, f"multiplier_{size}", nodes, ([1, 4, 10, 10], [1, 5, 10, 10]), wide)


def dead_lanes(folder: Path, dead: int) -> str:
    """Separable layers of 8 live channels and some that are zero from the first layer on."""
    live = with_biases({"a": filters(8, 3, 1, 1), "d": filters(8, 1, 3, 3), "p": filters(4, 8, 1, 1)})
    grown = {key: value if key in ("p", "p_b") else _grown(value, 0, dead) for key, value in live.items()}
    grown["p"] = _grown(live["p"], 1, dead)
    nodes = [
        conv("x", "a", "first"), relu("first", "r0"),
        conv("r0", "d", "depthwise", pads=[1, 1, 1, 1], group=8 + dead), relu("depthwise", "r1"), conv("r1", "p", "y"),
    ]  # fmt: skip
    return save(folder, f"dead_{dead}", nodes, ([1, 3, 12, 12], [1, 4, 12, 12]), grown)


def _grown(array: Numbers, axis: int, more: int) -> Numbers:
    return np.pad(array, [(0, more if dimension == axis else 0) for dimension in range(array.ndim)])


def wide_padding(folder: Path, pad: int) -> str:
    """A depthwise 2x2 layer whose first windows lie wholly in the padding where `pad` is more than 2."""
    nodes = [conv("x", "d", "y", pads=[pad] * 4, group=4)]
    out = 6 + 2 * pad - 1
    return save(folder, f"wide_{pad}", nodes, ([1, 4, 6, 6], [1, 4, out, out]), with_biases({"d": filters(4, 1, 2, 2)}))


def right_padding(folder: Path) -> str:
    """A depthwise 3x3 layer with two columns of padding on the right."""
    nodes = [conv("x", "d", "y", pads=[1, 1, 1, 2], group=4)]
    return save(folder, "right", nodes, ([1, 4, 6, 6], [1, 4, 6, 7]), with_biases({"d": filters(4, 1, 3, 3)}))


def large(folder: Path) -> str:
    """A fully connected layer of 800,000 weights."""
    nodes = [helper.make_node("Gemm", ["x", "w", "w_b"], ["y"], name="dense", transB=1)]
    return save(folder, "large", nodes, ([1, 2000], [1, 400]), with_biases({"w": filters(400, 2000)}))


def open_size(folder: Path) -> str:
    """A convolution over a height that the file leaves open."""
    path = save(
        folder, "open", [conv("x", "w", "y")], ([1, 3, 8, 8], [1, 4, 8, 8]), with_biases({"w": filters(4, 3, 1, 1)})
    )
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "height"
    onnx.save(model, path)
    return path


def main() -> int:
    """Write the examples."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    mobilenet(folder)
    residual(folder)
    one_dimensional(folder)
    multiplier(folder, 5)
    dead_lanes(folder, 9)
    return 0


if __name__ == "__main__":
    sys.exit(main())
