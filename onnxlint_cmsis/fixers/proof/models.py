"""A model under proof in either format: what can run, and what both models have inside."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.fix_results import LITERT, IfBranch
from onnxlint_cmsis.fixers.proof.compare import (
    Array,
    Optimization,
    ProvenModel,
    RunLevel,
    RuntimeRefusalError,
    RuntimeSession,
    UnreachedError,
    first_line,
    levels,
    quantizes_floats,
    unit_outputs,
)
from onnxlint_cmsis.fixers.proof.inputs import QUANTIZED_TYPES, Input, UnfedError, ValueSpan, model_inputs, span_of
from onnxlint_cmsis.formats.flatbuffer import Span
from onnxlint_cmsis.formats.format import ONNX, format_of, part
from onnxlint_cmsis.formats.onnx.document import inlined
from onnxlint_cmsis.formats.onnx.functions import operator_of_proto
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, checker_problem, infer_shapes
from onnxlint_cmsis.formats.onnx.wire import subgraphs
from onnxlint_cmsis.formats.tflite.file_model import read_tflite
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.formats.tflite.to_graph import main_keys, to_graph
from onnxlint_cmsis.ground.apart import Apart, CallError, EndedError
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.operators.control import IF

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message
    from onnx import GraphProto, ModelProto, NodeProto

    from onnxlint_cmsis.fixers.proof.litert import LoadedTensor
    from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel
    from onnxlint_cmsis.ground.types import InputShapes
    from onnxlint_cmsis.model.graph import Graph


# A `.tflite` file as LiteRT takes it, where it only objects to something that counts for nothing.


def runnable(model: TfliteModel) -> bytes:
    """The bytes of a file, with axis 0 for scales that name an axis which their tensor does not have.

    That is for vectors and for single scales, which leave no choice. Older converters wrote axis 3 for biases of
    depthwise convolutions; LiteRT 2.3.0 refuses that, TensorFlow Lite Micro does not look at it.
    """
    data = bytearray(model.data)
    for subgraph in SCHEMA.root(model.data).tables("subgraphs"):
        for tensor in subgraph.tables("tensors"):
            quantization = tensor.table("quantization")
            rank = len(tensor.ints("shape"))
            if quantization and (rank == 1 or len(quantization.floats("scale")) == 1):
                position = quantization.position("quantized_dimension")
                if position and quantization.number("quantized_dimension") >= max(rank, 1):
                    struct.pack_into("<i", data, position, 0)
    return bytes(data)


# What a changed `.tflite` file must have kept, whatever it computes: its interface, metadata, and sizes that fit.


NOWHERE = Span(0, 0)
"""In place of where something lies, which is not compared."""


def frame_fault(old: TfliteModel, new: TfliteModel) -> str:
    """What around the changed operators is not the same; empty for nothing."""
    if _tflite_frame(old) != _tflite_frame(new):
        return "inputs, outputs, signatures, metadata or other properties of the model differ"
    bodies = zip(old.subgraphs[1:], new.subgraphs[1:], strict=True)
    differing = (
        number for number, (before, after) in enumerate(bodies, 1) if [*_parts(old, before)] != [*_parts(new, after)]
    )
    number = next(differing, 0)
    return f"subgraph {number}, which is not run for the proof, differs" if number else ""


def sizes_fault(
    old: tuple[TfliteModel, Mapping[int, LoadedTensor]], new: tuple[TfliteModel, Mapping[int, LoadedTensor]]
) -> str:
    """A tensor whose stated sizes are not those that the kernels work out, though they were before; empty for none.

    Each model comes with its main subgraph's tensors as they are laid out. TensorFlow Lite Micro takes those stated.
    """
    known = {*_disagreeing(*old)}
    wrong = next((index for index in _disagreeing(*new) if index not in known), None)
    if wrong is None:
        return ""
    tensor, shape = new[0].subgraphs[0].tensors[wrong], new[1][wrong].shape
    return f"tensor `{tensor.name}` states shape {list(tensor.shape)}, its operator makes {list(shape)}"


def _disagreeing(model: TfliteModel, loaded: Mapping[int, LoadedTensor]) -> Iterator[int]:
    graph = model.subgraphs[0]
    for operator in graph.operators:
        for index in operator.outputs:
            if index in loaded and loaded[index].shape != graph.tensors[index].shape:
                yield index


def _tflite_frame(model: TfliteModel) -> list[Any]:
    """The model without its operators and the tensors between them."""
    main = model.subgraphs[0]
    ends = [main.tensors[index]._replace(buffer=0) for index in (*main.inputs, *main.outputs)]
    metadata = [(name, model.bytes_of(buffer)) for name, buffer in model.metadata]
    interface = [(graph.name, graph.inputs, graph.outputs) for graph in model.subgraphs]
    return [model.version, model.description, model.signatures, metadata, interface, ends]


def _parts(model: TfliteModel, subgraph: Subgraph) -> Iterator[Any]:
    """Everything in a subgraph, wherever it lies in the file."""
    for tensor in subgraph.tensors:
        yield tensor._replace(buffer=0), model.bytes_of(tensor.buffer)
    for operator in subgraph.operators:
        start, length = operator.custom_options
        yield operator._replace(span=NOWHERE, custom_options=NOWHERE), bytes(model.data[start : start + length])


# LiteRT: reference kernels, one thread, one process for each model, errors as text.


MISSING = "LiteRT, which proves fixes of .tflite files, is not installed: pip install 'onnxlint-cmsis[tflite]'"
"""Why nothing is fixed without the package."""


class Kernels(str, Enum):
    """Sets of kernels that LiteRT computes with."""

    REFERENCE = "reference kernels"
    """One plain loop for each operator, whose integers are those that TensorFlow Lite Micro computes."""


def litert_missing() -> str:
    """Why nothing can be proven; empty where LiteRT is installed."""
    return "" if find_spec("ai_edge_litert") else MISSING


class LiteRtProcess:
    """A model loaded in a process; tensors are named by their index in the main subgraph."""

    def __init__(self, model: bytes, repeats: int = 1) -> None:
        """Each input is run `repeats` times. Raises RuntimeRefusalError."""
        if litert_missing():
            raise RuntimeRefusalError(MISSING)
        self._model = Apart("onnxlint_cmsis.fixers.proof.litert", "LiteRtModel")
        with _refusals():
            self.tensors: dict[int, LoadedTensor] = self._model.call("load", model, repeats)
            """Every tensor with its size."""

    def run(self, feed: Mapping[int, Array], wanted: Sequence[int]) -> list[Any]:
        """Values of tensors on one input. Raises RuntimeRefusalError."""
        with _refusals():
            values: list[Any] = self._model.call("run", dict(feed), tuple(wanted))
        return values

    def close(self) -> None:
        """Let the process end as it would. Raises RuntimeRefusalError where it crashes then: memory was overwritten."""
        with _refusals():
            self._model.close()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Errors of the process as those of a runtime."""
    try:
        yield
    except EndedError as error:
        raise RuntimeRefusalError(f"it ended its process {error}") from None
    except CallError as error:
        raise RuntimeRefusalError(first_line(error)) from None


# A `.tflite` model: LiteRT runs its main subgraph.


REPEATS = 3
"""Runs of a model with variables on one input, from its first state, so that what they keep reaches the outputs."""


class TfliteProvenModel:
    """A model; tensors go by their keys in the graph."""

    runtime = LITERT
    plain_level: RunLevel = Kernels.REFERENCE
    shipped_level: RunLevel = Kernels.REFERENCE

    def __init__(self, path: str, data: bytes) -> None:
        """Raises ModelError."""
        self.data = data
        self.model: TfliteModel = read_tflite(path, data)
        self.graph: Graph = to_graph(self.model)

    @cached_property
    def process(self) -> LiteRtProcess:
        """The model, loaded. Raises RuntimeRefusalError."""
        return self._started()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys of the main subgraph's tensors, by index."""
        return main_keys(self.model)

    def inputs(self, shapes: InputShapes) -> list[Input]:  # noqa: ARG002 - the file states all sizes
        """Inputs in the file's order. Raises UnfedError, RuntimeRefusalError."""
        return self._inputs

    @cached_property
    def _inputs(self) -> list[Input]:
        indices = self.model.subgraphs[0].inputs
        inputs = [self._input(index) for index in indices]
        process = self._started()  # where a run overwrites memory, the end of its process shows it
        tensors = {index: process.tensors[index] for index in indices}
        process.run({index: np.zeros(tensor.shape, tensor.dtype) for index, tensor in tensors.items()}, ())
        process.close()
        return inputs

    def levels(self) -> list[RunLevel]:
        """The reference kernels alone: they are what the file means."""
        return [Kernels.REFERENCE]

    def inner_level(self) -> tuple[RunLevel, int]:
        """Every tensor inside is the same bit for bit."""
        return Kernels.REFERENCE, 0

    def session(self, level: RunLevel, inner: Sequence[str] = ()) -> TfliteSession:  # noqa: ARG002 - there is one level
        """The model ready to run; every tensor can be asked for. Raises RuntimeRefusalError."""
        return TfliteSession(self.process, self.keys, self.model.subgraphs[0].outputs)

    def computed(self) -> list[str]:
        """Tensors that operators of the main subgraph compute."""
        return list(dict.fromkeys(key for node in self.graph.nodes if not node.graph for key in node.outputs if key))

    def unit_outputs(self) -> frozenset[str]:
        """None: outputs are measured against what is seen of them."""
        return frozenset()

    def fault(self, new: TfliteProvenModel) -> str:
        """What a look at the rest of the file and at the sizes of tensors says against another model."""
        difference = frame_fault(self.model, new.model)
        try:
            return difference or sizes_fault((self.model, self.process.tensors), (new.model, new.process.tensors))
        except RuntimeRefusalError as error:
            return f"{self.runtime}: {error}"

    def unreached(
        self,
        new: TfliteProvenModel,  # noqa: ARG002 - a change in another subgraph is a fault
        known: Collection[IfBranch],
        feeds: Iterable[Mapping[str, Array]],  # noqa: ARG002
    ) -> tuple[IfBranch, ...]:
        """Those that are known, as changes in other subgraphs are not proven."""
        return tuple(known)

    def _started(self) -> LiteRtProcess:
        return LiteRtProcess(runnable(self.model), REPEATS if self.graph.variables else 1)

    def _input(self, index: int) -> Input:
        tensor, loaded = self.model.subgraphs[0].tensors[index], self.process.tensors[index]
        dtype: np.dtype[Any] = np.dtype(loaded.dtype)
        if dtype.kind not in "iufb":
            raise UnfedError(f"input `{tensor.name}` is of type {dtype}, for which no values are made")
        quantized = next(self._quantized(self.keys[index]), None) if dtype.kind == "f" else None
        return Input(self.keys[index], dtype, loaded.shape, span_of(dtype, quantized), ())

    def _quantized(self, key: str) -> Iterator[ValueSpan]:
        """Real numbers that the quantized form of a real tensor can tell apart."""
        for node in self.graph.consumers.get(key, ()):
            stored, kind = self.graph.quantization.get(node.outputs[0]), self.graph.elem_type(node.outputs[0])
            if stored is not None and len(node.inputs) == 1 and kind in QUANTIZED_TYPES:
                limits, zero = np.iinfo(kind), (*stored.zero_points, 0)[0]
                yield (int(limits.min) - zero) * stored.scales[0], (int(limits.max) - zero) * stored.scales[0]


class TfliteSession:
    """A model ready to run, its inputs and outputs by key."""

    def __init__(self, process: LiteRtProcess, keys: Sequence[str], outputs: Sequence[int]) -> None:
        self._process, self._outputs = process, tuple(outputs)
        self._index = {key: index for index, key in enumerate(keys)}
        self.outputs = [(keys[index], f"tensor({process.tensors[index].dtype})") for index in outputs]

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order, or other tensors. Raises RuntimeRefusalError."""
        wanted = self._outputs if names is None else [self._index[name] for name in names]
        values = self._process.run({self._index[key]: value for key, value in feed.items()}, wanted)
        if names is None and any(value is None for value in values):
            raise RuntimeRefusalError("an output has no memory")
        return values


# What the ONNX checker, shape inference and the interface say of a changed model.


def static_reason(old: bytes, new: bytes, parsed: Callable[[], tuple[ModelProto, ModelProto]]) -> str:
    """Why the new model may not replace the old one; empty where it may. `parsed` gives both as protobufs."""
    rejected = checker_problem(new)
    if rejected is not None and checker_problem(old) is None:
        return rejected.message
    inferred = _inferred(old), _inferred(new)
    if isinstance(inferred[1], str) and not isinstance(inferred[0], str):
        return f"shape inference: {inferred[1]}"
    before, after = (_onnx_frame(model) for model in parsed())
    if before != after:
        return "inputs, outputs, operator sets or other properties of the model differ"
    if not any(isinstance(outputs, str) for outputs in inferred) and inferred[0] != inferred[1]:
        return "shape inference finds other outputs"
    return ""


def _inferred(model: bytes) -> list[bytes] | str:
    """Inferred outputs, or the error of shape inference."""
    try:
        inferred = infer_shapes(model, strict=True)
    except OnnxLibraryError as error:
        return first_line(error)
    return [value.SerializeToString(deterministic=True) for value in inferred.graph.output]


def _onnx_frame(model: ModelProto) -> bytes:
    """The model without its nodes and constants."""
    frame, graph = type(model)(), type(model.graph)()
    _take(frame, model, without=("graph",))
    _take(graph, model.graph, without=("node", "initializer", "sparse_initializer", "value_info", "input"))
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    graph.input.extend(value for value in model.graph.input if value.name not in constants)
    return b"".join(part.SerializeToString(deterministic=True) for part in (frame, graph))


def _take(new: Message, old: Message, without: Collection[str]) -> None:
    """Copy all fields of a message but some, whose bytes may be many."""
    for field, value in old.ListFields():
        if field.name in without:
            continue
        if hasattr(value, "extend"):
            getattr(new, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(new, field.name).CopyFrom(value)
        else:
            setattr(new, field.name, value)


# Whether inputs reach the changed parts of a model: a branch of If runs only under its condition.


def changed_branches(old: GraphProto, new: GraphProto) -> list[IfBranch]:
    """Branches in which two models differ. Raises UnreachedError for changes deeper inside, or in a loop."""
    branches = []
    for node, other in _pairs(old, new):
        for (attribute, before), (_, after) in zip(subgraphs(node), subgraphs(other), strict=True):
            if before.SerializeToString(deterministic=True) == after.SerializeToString(deterministic=True):
                continue
            name = node.name or node.output[0]
            if operator_of_proto(node) is not IF:
                raise UnreachedError(f"the change is in the body of {name}")
            deeper = changed_inside(before, after)
            if deeper:
                raise UnreachedError(f"the change is in {deeper}, inside a branch of {name}")
            branches.append(IfBranch(name, node.input[0], attribute == "then_branch"))
    return branches


def changed_inside(old: GraphProto, new: GraphProto) -> str:
    """First node of a graph whose own subgraphs differ, empty where there is none."""
    for node, other in _pairs(old, new):
        for (_, before), (_, after) in zip(subgraphs(node), subgraphs(other), strict=True):
            if before.SerializeToString(deterministic=True) != after.SerializeToString(deterministic=True):
                return node.name or node.output[0]
    return ""


def unreached(
    model: ModelProto, branches: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
) -> tuple[IfBranch, ...]:
    """Branches that none of the inputs leads into."""
    if not branches:
        return ()
    open_branches = set(branches)
    conditions = list(dict.fromkeys(branch.condition for branch in branches))
    session = RuntimeSession(with_outputs(model, conditions), Optimization.NONE)
    for feed in feeds:
        values = session.run(feed, conditions)
        seen = {name: bool(np.all(value)) for name, value in zip(conditions, values, strict=True)}
        open_branches -= {branch for branch in open_branches if seen[branch.condition] == branch.wanted}
        if not open_branches:
            return ()
    return tuple(sorted(open_branches))


def _pairs(old: GraphProto, new: GraphProto) -> Iterator[tuple[NodeProto, NodeProto]]:
    """Nodes with subgraphs, paired over the two graphs by the tensor they make."""
    others = {node.output[0]: node for node in new.node if node.output}
    for node in old.node:
        if subgraphs(node) and node.output[0] in others:
            yield node, others[node.output[0]]


def with_outputs(model: ModelProto, names: Sequence[str], data: bytes = b"") -> bytes:
    """The model, serialized, with tensors of the main graph as further outputs; `data` are its bytes, where at hand."""
    present = {value.name for value in model.graph.output}
    more = type(model)()
    for name in names:
        if name not in present:
            more.graph.output.add(name=name)
    serialized: bytes = (data or model.SerializeToString()) + more.SerializeToString()  # the second adds to the first
    return serialized


# An ONNX model: ONNX Runtime runs it.


class OnnxModel:
    """A model with its external data inside."""

    runtime = "ONNX Runtime"
    plain_level: RunLevel = Optimization.NONE
    shipped_level: RunLevel = Optimization.SHIPPED

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def proto(self) -> ModelProto:
        """The model, parsed."""
        from onnx import ModelProto

        model: ModelProto = ModelProto.FromString(self.data)
        return model

    def inputs(self, shapes: InputShapes) -> list[Input]:
        """Inputs without the constants listed among them. Raises UnfedError."""
        return model_inputs(self.proto, shapes)

    def levels(self) -> list[Optimization]:
        """Levels of optimisation at which two models are comparable."""
        return levels(self.proto)

    def inner_level(self) -> tuple[Optimization, int]:
        """Fused kernels are kept where floats are quantized, and integers may then differ by 1."""
        quantizes = quantizes_floats(self.proto)
        return Optimization.DEFAULT if quantizes else Optimization.NONE, int(quantizes)

    def session(self, level: RunLevel, inner: Sequence[str] = ()) -> RuntimeSession:
        """The model ready to run. Raises RuntimeRefusalError."""
        data = with_outputs(self.proto, inner, self.data) if inner else self.data
        return RuntimeSession(data, Optimization(level.value))

    def computed(self) -> list[str]:
        """Tensors that nodes of the main graph make."""
        return list(dict.fromkeys(name for node in self.proto.graph.node for name in node.output if name))

    def unit_outputs(self) -> frozenset[str]:
        """Outputs between 0 and 1."""
        return unit_outputs(self.proto)

    def fault(self, new: OnnxModel) -> str:
        """What onnx.checker, shape inference and a look at the interface say against another model."""
        return static_reason(self.data, new.data, lambda: (self.proto, new.proto))

    def unreached(
        self, new: OnnxModel, known: Collection[IfBranch], feeds: Iterable[Mapping[str, Array]]
    ) -> tuple[IfBranch, ...]:
        """Branches of If that no input leads into. Raises UnreachedError, RuntimeRefusalError."""
        changed = changed_branches(self.proto.graph, new.proto.graph)
        return unreached(self.proto, {*changed, *known}, feeds)


class ProofRuntime(NamedTuple):
    """What runs the models of one format for a proof; `Format.prover` names it."""

    model: Callable[[bytes, Path | None], ProvenModel]
    """A model from its bytes; external data lie beside the path. Raises NotAppliedError, ModelError."""
    missing: Callable[[], str]
    """Why nothing can be proven here; empty where the runtime is installed."""


ONNX_RUNTIME = ProofRuntime(lambda data, beside: OnnxModel(inlined(data, beside)), lambda: "")
LITERT_RUNTIME = ProofRuntime(lambda data, beside: TfliteProvenModel(str(beside), data), litert_missing)


def proven_model(data: bytes, beside: Path | None) -> ProvenModel:
    """A model; `beside` is its file, None for ONNX in memory.

    Raises NotAppliedError where nothing runs the file's format, ModelError.
    """
    form = ONNX if beside is None else format_of(str(beside))
    if not form.prover:
        raise NotAppliedError(f"nothing runs {form.suffix} files for a proof")
    runtime: ProofRuntime = part(form.prover)
    return runtime.model(data, beside)
