"""Writes a quantized model of many softmaxes: random shapes, scales of usual calibrations, three pairs of types.

Usage: python scripts/softmax_model.py FILE.onnx [COUNT [SEED]]     100 softmaxes of seed 0 unless told otherwise

Run it on the device: python -m firmware_check FILE.onnx --cmsis-nn DIR --target cortex-m55 --compiler gcc
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Numbers = NDArray[Any]
_SAMPLES = 512
_MOST = 4000
"""Elements of one tensor."""


class Types(NamedTuple):
    """Types of input and output, and the output's scale and zero-point in CMSIS-NN."""

    source: type[np.generic]
    """Type of the input."""
    result: type[np.generic]
    """Type of the output."""
    scale: float
    """Of the output."""
    zero_point: int
    """Of the output."""


KINDS = {
    "s8": Types(np.int8, np.int8, 1 / 256, -128),
    "s16": Types(np.int16, np.int16, 1 / 32768, 0),
    "s8_s16": Types(np.int8, np.int16, 1 / 65536, -32768),
}
"""Suffix of the function to its types."""


def softmax_model(count: int = 100, seed: int = 0) -> onnx.ModelProto:
    """A model of independent softmaxes, named after their kind and number: `s8_0`, `s16_1`, `s8_s16_2`."""
    generator = np.random.default_rng(seed)
    names = [f"{list(KINDS)[number % len(KINDS)]}_{number}" for number in range(count)]
    parts = [_part(name, KINDS[name.rpartition("_")[0]], generator) for name in names]
    graph = helper.make_graph(
        [node for nodes, _, _, _ in parts for node in nodes], "softmaxes", [given for _, given, _, _ in parts],
        [result for _, _, result, _ in parts], [constant for _, _, _, constants in parts for constant in constants],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _part(
    name: str, types: Types, generator: np.random.Generator
) -> tuple[list[onnx.NodeProto], onnx.ValueInfoProto, onnx.ValueInfoProto, list[onnx.TensorProto]]:
    """One softmax between its pairs: nodes, input, output, constants."""
    shape, axis = _shape(generator)
    scale, zero_point = _calibrated(types.source, generator)
    nodes = [
        helper.make_node("DequantizeLinear", [f"{name}_x", f"{name}_s", f"{name}_z"], [f"{name}_a"]),
        helper.make_node("Softmax", [f"{name}_a"], [f"{name}_b"], name=name, axis=axis),
        helper.make_node("QuantizeLinear", [f"{name}_b", f"{name}_t", f"{name}_u"], [f"{name}_y"]),
    ]
    constants = [
        _scalar(f"{name}_s", scale, np.float32), _scalar(f"{name}_z", zero_point, types.source),
        _scalar(f"{name}_t", types.scale, np.float32), _scalar(f"{name}_u", types.zero_point, types.result),
    ]  # fmt: skip
    return nodes, _info(f"{name}_x", types.source, shape), _info(f"{name}_y", types.result, shape), constants


def _shape(generator: np.random.Generator) -> tuple[list[int], int]:
    """Classes of some images or of a sequence, attention between places, or classes of each pixel; and the axis."""
    classes = int(np.exp(generator.uniform(np.log(2), np.log(1000))))
    few, high, wide = (int(number) for number in generator.integers(1, 9, 3))
    rows = max(1, min(few, _MOST // classes))
    places = min(classes, 32)
    shapes = (
        ([rows, classes], -1),
        ([1, rows, classes], -1),
        ([1, min(few, 3), places, places], -1),
        ([1, min(classes, 60), high, wide], 1),
    )
    return shapes[generator.integers(len(shapes))]


def _calibrated(kind: type[np.generic], generator: np.random.Generator) -> tuple[float, int]:
    """Scale and zero-point of logits by a usual calibration; symmetric for int16."""
    spread, middle = np.exp(generator.uniform(np.log(0.3), np.log(6))), generator.uniform(-3, 3)
    logits = generator.normal(middle, spread, _SAMPLES)
    if kind is np.int16:
        return float(np.abs(logits).max() / 32767), 0
    return CALIBRATIONS[generator.integers(len(CALIBRATIONS))](logits)


def _between(lowest: float, highest: float) -> tuple[float, int]:
    """Scale and zero-point that map a range, widened to hold 0, to all of int8."""
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    scale = (highest - lowest) / 255
    return scale, int(np.clip(np.rint(-128 - lowest / scale), -128, 127))


def _of_extremes(logits: Numbers) -> tuple[float, int]:
    return _between(float(logits.min()), float(logits.max()))


def _of_percentiles(logits: Numbers) -> tuple[float, int]:
    lowest, highest = np.percentile(logits, [0.5, 99.5])
    return _between(float(lowest), float(highest))


def _symmetric(logits: Numbers) -> tuple[float, int]:
    return float(np.abs(logits).max() / 127), 0


def _power_of_two(logits: Numbers) -> tuple[float, int]:
    return float(2.0 ** np.ceil(np.log2(np.abs(logits).max() / 127))), 0


CALIBRATIONS: tuple[Callable[[Numbers], tuple[float, int]], ...] = (
    _of_extremes,
    _of_percentiles,
    _symmetric,
    _power_of_two,
)
"""Minimum and maximum, percentiles, the largest magnitude, and the power of two above that."""


def _scalar(name: str, value: float, kind: type[np.generic]) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, kind), name)


def _info(name: str, kind: type[np.generic], shape: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)


def main(arguments: list[str]) -> None:
    """Write the model."""
    onnx.save(softmax_model(*map(int, arguments[1:])), arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
