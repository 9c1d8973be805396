"""A float model or one of quantized operators as QDQ pairs around its layers."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from firmware_check.errors import FirmwareError
from firmware_check.reading.read import OPERATORS
from onnxlint_cmsis.fixers.proof.onnx_runtime import onnx_runtime, run_within
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.lower.stored_types import MOVES
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.mixing import SOFTMAX
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, GLOBAL_AVERAGE_POOL
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR

if TYPE_CHECKING:
    from firmware_check.program import Elements, Program
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.roles import Quantized
    from onnxlint_cmsis.operators.record import Operator


# A float model to int8 with ONNX Runtime's quantizer, with the parameters that TensorFlow Lite would choose.


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
    """Whether nothing in the model is quantized yet."""
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


# Models in QOperator format as QDQ: QLinearConv becomes a Conv between DequantizeLinear and QuantizeLinear.


Nodes = list[onnx.NodeProto]


_SOFTMAX_OF_ONE_AXIS = 13


def computed(operator: Operator) -> Operator | None:
    """Operator on real numbers that the firmware runs in place of one that carries its result's scale; else None."""
    real = operator.root
    carries = any(tie.value < 0 and tie.scale >= 0 for tie in operator.roles.quantized)
    return real if operator is not real and carries and (real.domain, real.name) in OPERATORS else None


def is_operator_format(model: onnx.ModelProto) -> bool:
    """Whether a model has such operators."""
    return any(computed(operator_of_proto(node)) for node in model.graph.node)


def expand(path: str, folder: Path) -> Path:
    """Write the QDQ form of a model into `folder`; tensors of integers keep their names."""
    model = onnx.load(path)
    opset = next((opset.version for opset in model.opset_import if opset.domain == ""), 1)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes: Nodes = []
    for number, node in enumerate(model.graph.node):
        real = computed(operator_of_proto(node))
        expansion = _Expansion(node, real, number, constants) if real else None
        if expansion is None or not _plain(node, opset) or not expansion.possible:
            nodes.append(node)
            continue
        nodes += expansion.nodes()
        model.graph.initializer.extend(expansion.initializers)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    target = folder / "qdq.onnx"
    onnx.save(model, target)
    return target


def named_as_given(program: Program, graph: Graph) -> Program:
    """The layers under the operators that the file has."""
    names = {node.label: node.op_type for node in graph.nodes}
    steps = (replace(step, op_type=names.get(step.label, step.op_type)) for step in program.steps)
    return replace(program, steps=tuple(steps))


def _plain(node: onnx.NodeProto, opset: int) -> bool:
    """Whether the operator is that of the default domain: channels second, Softmax as the model's opset has it."""
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
    softmax = numbers.get("opset", opset)
    return not numbers.get("channels_last") and (softmax < _SOFTMAX_OF_ONE_AXIS) == (opset < _SOFTMAX_OF_ONE_AXIS)


class _Expansion:
    """One operator on integers in the making."""

    def __init__(self, node: onnx.NodeProto, real: Operator, number: int, constants: dict[str, Elements]) -> None:
        roles = operator_of_proto(node).roles
        self._node = node
        self._roles = roles
        self._operator = real
        quantized = sorted(roles.quantized_of(len(node.input)))
        self._operands = [operand for operand in quantized if operand.value >= 0]
        self._result = quantized[0]
        self._label = node.name or f"{node.op_type}#{number}"
        self._real = f"{node.output[0]}_real_{number}"
        self._constants = constants
        self.initializers: list[onnx.TensorProto] = []

    @property
    def result(self) -> str:
        """Output of the operator on real numbers; the node's own where that is real."""
        return self._real if self._given(self._result.scale) else self._node.output[0]

    @property
    def possible(self) -> bool:
        """Whether the scale of a bias can be told."""
        scales = (self._node.input[operand.scale] for operand in self._operands)
        return not self._given(self._roles.bias) or all(name in self._constants for name in scales)

    def nodes(self) -> Iterator[onnx.NodeProto]:
        """DequantizeLinear of each operand, the operator, QuantizeLinear of its result."""
        node, bias = self._node, self._roles.bias
        inputs = []
        for operand in self._operands:
            inputs.append(f"{self._real}_{operand.value}")
            yield self._dequantize(operand, inputs[-1])
        if self._given(bias):
            inputs.append(f"{self._real}_{bias}")
            yield self._dequantize_bias(node.input[bias], inputs[-1])
        core = helper.make_node(self._operator.name, inputs, [self.result], self._label)
        core.attribute.extend(
            attribute for attribute in node.attribute if attribute.name not in ("channels_last", "opset")
        )
        yield core
        if self.result != node.output[0]:
            parameters = self._names(self.result, self._result)
            yield helper.make_node(QUANTIZE_LINEAR.name, parameters, [node.output[0]])

    def _given(self, position: int) -> bool:
        return 0 <= position < len(self._node.input) and bool(self._node.input[position])

    def _names(self, tensor: str, where: Quantized) -> list[str]:
        """A tensor with its scale, and its zero-point where that is given."""
        places = (where.scale, where.zero_point)
        return [tensor, *(self._node.input[position] for position in places if self._given(position))]

    def _dequantize(self, operand: Quantized, target: str) -> onnx.NodeProto:
        names = self._names(self._node.input[operand.value], operand)
        node = helper.make_node(DEQUANTIZE_LINEAR.name, names, [target])
        if self._constants.get(names[1], np.zeros(1)).size > 1:  # weights, with scales along the output channels
            transposed = any(attribute.name == "transB" and attribute.i for attribute in self._node.attribute)
            axis = 0 if self._roles.form is Form.CONVOLUTION or transposed else 1
            node.attribute.append(helper.make_attribute("axis", axis))
        return node

    def _dequantize_bias(self, tensor: str, target: str) -> onnx.NodeProto:
        """The bias is in units of input scale times weight scale."""
        scales = [self._constants[self._node.input[operand.scale]].astype(np.float64) for operand in self._operands]
        product = np.asarray(scales[0].reshape(-1) * scales[1].reshape(-1), np.float32)
        product = product if product.size > 1 else product.reshape(())
        self.initializers.append(numpy_helper.from_array(product, f"{target}_scale"))
        return helper.make_node(DEQUANTIZE_LINEAR.name, [tensor, f"{target}_scale"], [target], axis=0)
