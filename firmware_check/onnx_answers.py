"""ONNX Runtime's answers: every tensor of the model, and what one layer makes of given inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import onnx
from onnx import helper

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.fixers.proof.onnx_runtime import onnx_runtime, run_within
from onnxlint_cmsis.formats.names import operator_of

if TYPE_CHECKING:
    from firmware_check.program import Program, Step
    from onnxlint_cmsis.model.graph import Graph


Arrays = dict[str, np.ndarray]


class LayerReference(Protocol):
    """What computes a model on the host, for the device's layers to be held against."""

    runtime: str
    """Name in messages."""

    def random_inputs(self, seed: int, count: int, ranges: dict[str, tuple[float, float]]) -> list[Arrays]:
        """Sets of model inputs from a seed; `ranges` has the real range of a float input where it is known."""

    def tensors(self, names: list[str], inputs: Arrays) -> Arrays:
        """Values of any tensors of the model for one set of inputs."""

    def layer(self, step: Step, inputs: Arrays) -> np.ndarray:
        """What one layer makes of its inputs, which are given under the names of their tensors."""


class Reference:
    """A model in ONNX Runtime, without optimisations: each operator computes what ONNX defines.

    `path` is the file, `name` what the user called the one that it was made from.
    """

    runtime = "ONNX Runtime"
    """Name in messages."""

    def __init__(self, path: str, name: str, graph: Graph) -> None:
        self._name = name
        self._graph = graph
        self._model = onnx.load(path)
        self._producers = {name: node for node in self._model.graph.node for name in node.output if name}
        self._constants = {tensor.name: tensor for tensor in self._model.graph.initializer}

    def random_inputs(self, seed: int, count: int, ranges: dict[str, tuple[float, float]]) -> list[Arrays]:
        """Sets of model inputs from a seed; `ranges` has the real range of a float input where it is known."""
        generator = np.random.default_rng(seed)
        return [{name: self._random(name, generator, ranges) for name in self._graph.inputs} for _ in range(count)]

    def _random(self, name: str, generator: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> np.ndarray:
        shape = [size or 1 for size in self._graph.shape(name) or ()]
        elem_type = self._graph.elem_type(name)
        if elem_type in ("int8", "uint8", "int16"):
            info = np.iinfo(elem_type)
            return generator.integers(info.min, info.max + 1, shape).astype(elem_type)
        low, high = ranges.get(name, (-1.0, 1.0))
        return generator.uniform(low, high, shape).astype(elem_type or "float32")

    def tensors(self, names: list[str], inputs: Arrays) -> Arrays:
        """Values of any tensors of the model for one set of inputs."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        wanted = [name for name in dict.fromkeys(names) if name not in inputs]
        del model.graph.output[:]
        model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in wanted)
        arrays = dict(zip(wanted, self._run(model, wanted, inputs), strict=True)) if wanted else {}
        return {name: inputs[name] if name in inputs else np.asarray(arrays[name]) for name in names}

    def layer(self, step: Step, inputs: Arrays) -> np.ndarray:
        """What one layer makes of its inputs, which are given under the names of their tensors."""
        nodes = self._between(set(inputs), step.output.tensor)
        used = {name for node in nodes for name in node.input}
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in inputs.items()
        ]
        result = helper.make_empty_tensor_value_info(step.output.tensor)
        constants = [self._constants[name] for name in used if name in self._constants and name not in inputs]
        graph = helper.make_graph(nodes, "layer", given, [result], constants)
        model = helper.make_model(graph, opset_imports=self._model.opset_import, ir_version=self._model.ir_version)
        return np.asarray(self._run(model, None, inputs)[0])

    def _run(self, model: onnx.ModelProto, wanted: list[str] | None, inputs: Arrays) -> list[np.ndarray]:
        try:
            return _run(model, wanted, inputs)
        except Exception as error:
            said = str(error).splitlines()[0]
            raise FirmwareError(f"{self._name}: ONNX Runtime does not run the model: {said}") from None

    def _between(self, given: set[str], wanted: str) -> list[onnx.NodeProto]:
        """The nodes that make a tensor from others and from constants, in file order."""
        needed: set[int] = set()
        open_ = [wanted]
        while open_:
            name = open_.pop()
            if name in given or name in self._constants or not name:
                continue
            if name not in self._producers:
                raise FirmwareError(f"'{wanted}' depends on '{name}', which no node before it makes")
            node = self._producers[name]
            if id(node) not in needed:
                needed.add(id(node))
                open_ += list(node.input)
        return [node for node in self._model.graph.node if id(node) in needed]


def _run(model: onnx.ModelProto, wanted: list[str] | None, inputs: Arrays) -> list[np.ndarray]:
    ort = onnx_runtime()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in run_within(session, inputs, wanted)]


def input_ranges(graph: Graph, program: Program) -> dict[str, tuple[float, float]]:
    """Real range of each float input that is quantized at once."""
    ranges = {}
    for value in program.inputs:
        producer = graph.producers.get(value.tensor)
        if producer is not None and operator_of(producer).quantizes and producer.inputs[0] in graph.inputs:
            q = value.quantization
            ranges[producer.inputs[0]] = (q.scale * (q.lowest - q.zero_point), q.scale * (q.highest - q.zero_point))
    return ranges
