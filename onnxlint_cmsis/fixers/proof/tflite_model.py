"""A `.tflite` model: LiteRT runs its main subgraph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from onnxlint_cmsis.analysis.proof_results import LITERT, IfBranch
from onnxlint_cmsis.fixers.proof.inputs import QUANTIZED_TYPES, Input, UnfedError, ValueSpan, refuse_large, span_of
from onnxlint_cmsis.fixers.proof.litert_process import Kernels, LiteRtProcess, runnable
from onnxlint_cmsis.fixers.proof.proven import Array, RunLevel, RuntimeRefusalError
from onnxlint_cmsis.fixers.proof.tflite_frame import frame_fault, sizes_fault
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import main_keys, to_graph
from onnxlint_cmsis.ground.types import InputShapes
from onnxlint_cmsis.model.graph import Graph

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
        refuse_large(self.graph)
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

    def fault(self, new: TfliteProvenModel) -> str | None:
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
