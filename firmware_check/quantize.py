"""A float model to int8 with ONNX Runtime's quantizer, with the parameters that TensorFlow Lite would choose."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from firmware_check.errors import FirmwareError
from firmware_check.reading.builders import OPERATORS
from onnxlint_cmsis.fixers.proof.onnx_runtime import onnx_runtime, run_within
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.lower.stored_types import MOVES
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.mixing import SOFTMAX
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, GLOBAL_AVERAGE_POOL

Arrays = dict[str, np.ndarray]

_OPSET = 13
"""First opset whose DequantizeLinear has an axis."""
_IR_VERSION = 4
"""First one in which a constant need not be an input."""
_SOFTMAX = (np.float32(1 / 256), np.int8(-128))
"""Scale and zero-point that arm_softmax_s8 gives its output."""
_LEFT_ALONE = ["Pad_Fusion"]
"""Optimizations of ONNX Runtime that are the linter's to decide: which Pad a convolution takes over."""
_RANDOM_SAMPLES = 16
MOST_NODES = 1_000
"""Nodes of the largest model that is quantized. ONNX Runtime takes 10 s for so many, and 40 s for twice as many."""
_LOADING = re.compile(r"Load model from \S+ failed:\s*")


def is_float(model: onnx.ModelProto) -> bool:
    """Tell whether nothing in the model is quantized yet."""
    return not any(operator_of_proto(node).roles.quantized for node in model.graph.node)


def quantize(path: str, graph: Graph, calibration: str, seed: int, folder: Path) -> Path:
    """Write the quantized form of a float model into `folder`: QDQ, int8 activations, int8 weights per channel.

    `calibration` is a folder of .npy files, or empty for random data from the seed.

    Raises:
        FirmwareError: the calibration data does not fit, or ONNX Runtime cannot quantize the model.

    """
    if len(graph.nodes) > MOST_NODES:
        raise FirmwareError(
            f"it has {len(graph.nodes):,} nodes; a float model of up to {MOST_NODES:,} is quantized here"
        )
    samples = list(_from_folder(calibration, graph) if calibration else _random(graph, seed))
    try:
        prepared = _prepared(path, graph, folder, samples[0])
        _refuse_no_numbers(prepared)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what matters of them is refused, in one sentence
            warnings.simplefilter("ignore")
            quantized = _quantized(prepared, samples, folder)
    except FirmwareError:
        raise
    except Exception as error:
        raise FirmwareError(f"ONNX Runtime does not quantize it: {_first_line(error)}") from None
    model = onnx.load(quantized)
    _like_tflite(model)
    onnx.save(model, quantized)
    return quantized


def _prepared(path: str, graph: Graph, folder: Path, sample: Arrays) -> Path:
    """The model with fixed input sizes, opset 13 or later, and its constants folded and fused by ONNX Runtime.

    It has run on a sample: the quantizer waits for its runs without end.
    """
    from onnx import version_converter

    ort = onnx_runtime()
    model = onnx.load(path)
    model.ir_version = max(model.ir_version, _IR_VERSION)
    constants = {tensor.name for tensor in model.graph.initializer}
    kept = [value for value in model.graph.input if value.name not in constants]  # else ONNX Runtime fuses nothing
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, graph.shape(value.name) or (), strict=False):
            if size is not None:
                dim.dim_value = size
    if next((opset.version for opset in model.opset_import if opset.domain == ""), _OPSET) < _OPSET:
        model = version_converter.convert_version(model, _OPSET)
    fixed, fused = folder / "fixed.onnx", folder / "fused.onnx"
    onnx.save(model, fixed)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(fused)
    options.log_severity_level = 4
    session = ort.InferenceSession(
        str(fixed), options, providers=["CPUExecutionProvider"], disabled_optimizers=_LEFT_ALONE
    )
    run_within(session, sample)
    inferred = onnx.shape_inference.infer_shapes(onnx.load(fused))
    onnx.save(inferred, fused)
    return fused


def _refuse_no_numbers(prepared: Path) -> None:
    """FirmwareError where a constant holds NaN, which no integer stands for."""
    for tensor in onnx.load(prepared).graph.initializer:
        values = numpy_helper.to_array(tensor)
        if np.issubdtype(values.dtype, np.floating) and np.isnan(values).any():
            raise FirmwareError(f"constant '{tensor.name}' holds NaN, which cannot be quantized")


def _quantized(path: Path, samples: list[Arrays], folder: Path) -> Path:
    onnxruntime = onnx_runtime()
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = iter(samples)

        def get_next(self) -> Arrays | None:
            return next(self.left, None)

    target = folder / "quantized.onnx"
    dense = {name: [{"quant_type": QuantType.QInt8, "symmetric": True}] for name in _dense_weights(onnx.load(path))}
    known = {*QDQRegistry, *QLinearOpsRegistry, *(op_type for _, op_type in OPERATORS)}
    logging.getLogger().setLevel(logging.ERROR)
    onnxruntime.set_default_logger_severity(4)
    quantize_static(
        str(path), str(target), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, op_types_to_quantize=sorted(known),
        extra_options={"ActivationSymmetric": False, "WeightSymmetric": True, "TensorQuantOverrides": dense},
    )  # fmt: skip
    return target


def _dense_weights(model: onnx.ModelProto) -> list[str]:
    """Constant factors of matrix products: TensorFlow Lite gives them one scale."""
    constants = {tensor.name for tensor in model.graph.initializer}
    products = [node for node in model.graph.node if operator_of_proto(node).roles.form in (Form.GEMM, Form.MATMUL)]
    weights = dict.fromkeys(node.input[operator_of_proto(node).roles.weights[0]] for node in products)
    return [name for name in weights if name in constants]


def _like_tflite(model: onnx.ModelProto, softmax: tuple[np.generic, np.generic] = _SOFTMAX) -> None:
    """Softmax ends in this scale and zero-point; average pooling keeps the scale of its input."""
    producers = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        operator = operator_of_proto(node)
        if operator is SOFTMAX:
            names = [f"{node.output[0]}_tflite_scale", f"{node.output[0]}_tflite_zero_point"]
            values = [numpy_helper.from_array(np.array(v), name) for v, name in zip(softmax, names, strict=True)]
            if _set_output(model, node.output[0], names):
                model.graph.initializer.extend(values)
        elif operator in (AVERAGE_POOL, GLOBAL_AVERAGE_POOL):
            source = producers.get(node.input[0])
            if source is not None and operator_of_proto(source).dequantizes:
                _set_output(model, node.output[0], list(source.input[1:3]))


def _set_output(model: onnx.ModelProto, tensor: str, names: list[str]) -> bool:
    """Give the pairs of Q and DQ behind a tensor another scale and zero-point, and those behind what only moves it."""
    operators = [(node, operator_of_proto(node)) for node in model.graph.node]
    quantizers = [node for node, operator in operators if operator.quantizes and node.input[0] == tensor]
    quantized = {node.output[0] for node in quantizers}
    readers = [node for node, operator in operators if operator.dequantizes and node.input[0] in quantized]
    for node in (*quantizers, *readers):
        node.input[1], node.input[2] = names
    reals = {node.output[0] for node in readers}
    for node, operator in operators:
        if operator.elements in MOVES and node.input[0] in reals:
            _set_output(model, node.output[0], names)
    return bool(quantizers)


def _random(graph: Graph, seed: int) -> Iterator[Arrays]:
    generator = np.random.default_rng(seed)
    for name in graph.inputs:
        if not hasattr(np, graph.elem_type(name) or "nothing"):
            raise FirmwareError(f"input '{name}' is {graph.elem_type(name) or 'of no type'}, which numpy has not")
    for _ in range(_RANDOM_SAMPLES):
        yield {
            name: generator.normal(size=[size or 1 for size in graph.shape(name) or ()]).astype(graph.elem_type(name))
            for name in graph.inputs
        }


def _from_folder(folder: str, graph: Graph) -> Iterator[Arrays]:
    """Samples from .npy files: in the folder itself for one input, in a subfolder named after each input for more."""
    root = Path(folder)
    places = {name: root if len(graph.inputs) == 1 else root / name for name in graph.inputs}
    files = {name: sorted(folder.glob("*.npy")) for name, folder in places.items()}
    if not all(files.values()) or len({len(paths) for paths in files.values()}) != 1:
        counts = ", ".join(f"{len(paths)} for '{name}'" for name, paths in files.items())
        raise FirmwareError(f"{folder}: an equal number of .npy files is expected for each input; found {counts}")
    for number in range(len(next(iter(files.values())))):
        yield {name: _sample(paths[number], name, graph) for name, paths in files.items()}


def _sample(path: Path, name: str, graph: Graph) -> np.ndarray:
    shape = tuple(size or 1 for size in graph.shape(name) or ())
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FirmwareError(f"{path}: not an array that NumPy reads: {_first_line(error)}") from None
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise FirmwareError(
            f"{path}: {array.dtype} with values that are not finite numbers; finite real numbers are expected"
        )
    if array.size != int(np.prod(shape)):
        raise FirmwareError(f"{path}: shape {array.shape}; input '{name}' has {shape}")
    return np.asarray(array.reshape(shape), graph.elem_type(name))


def _first_line(error: Any) -> str:
    """What an exception says, without the name of a temporary file."""
    lines = _LOADING.sub("", str(error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__
