"""Edits of the main subgraph of a `.tflite` file, for repairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.constants import Use
from onnxlint_cmsis.fixers.edits.tflite_constants import new_bias, stored_elements
from onnxlint_cmsis.fixers.edits.tflite_sites import TfliteSites
from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.element_codes import Codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.model.graph import Graph, Node


class TfliteGraphEdit:
    """A copy of a file in the making; nodes are named by `Node.index` of its graph before all edits."""

    def __init__(self, data: bytes, graph: Graph, clean: Callable[[KernelCall], bool]) -> None:
        """`graph` is that of `data`; `clean` tells that a call meets no hazard on a target. Raises NotAppliedError."""
        self.graph, self.clean = graph, clean
        self._edit = TfliteEdit(graph.path, data)
        self._sites = TfliteSites(self._edit, graph)
        self._written: dict[str, dict[tuple[tuple[int, ...], bytes], list[Use]]] = {}

    def data(self) -> bytes:
        """The file as it is now; to be asked for once. Raises NotAppliedError."""
        for key, forms in self._written.items():
            readers = sum(node.inputs.count(key) for node in self.graph.consumers[key])
            free = readers == sum(map(len, forms.values()))
            for rank, ((shape, raw), uses) in enumerate(forms.items()):
                tensor = self._edit.tensor(self._sites.read_by(uses[0]))
                self._sites.write(uses, shape, raw, tensor.quantization, copied=rank > 0 or not free)
        return self._edit.data()

    def drop_unread(self) -> None:
        """Nothing: these edits leave no constant without a reader."""

    def stored(self, node: Node, position: int) -> StoredElements:
        """Elements of the stored constant that a node reads. Raises NotAppliedError."""
        return stored_elements(self._edit.model, self._edit.tensor(self._read(node, position)))

    def write(self, node: Node, position: int, codes: Codes, elem_type: str) -> None:
        """Give a node another constant; other nodes that read the old one keep it."""
        self._site(node)
        form = codes.shape, element_codes.packed(codes, BITS[elem_type])
        self._written.setdefault(node.inputs[position], {}).setdefault(form, []).append((node.index, position))

    def add_bias(self, node: Node, position: int, values: npt.NDArray[np.generic]) -> None:
        """Give a layer a bias in the unit of its sum."""
        data, weights = (self._edit.tensor(self._read(node, source)) for source in (0, 1))
        new = new_bias(data, weights, weights.quantization, values)
        self._edit.set_input(self._site(node), position, self._edit.add_tensor(0, new))

    def _read(self, node: Node, position: int) -> TensorPlace:
        self._site(node)
        return self._sites.read_by((node.index, position))

    def _site(self, node: Node) -> OperatorPlace:
        """An operator of the main subgraph. Raises NotAppliedError for one in another."""
        if node.graph:
            raise NotAppliedError(f"{node.label} is in a subgraph")
        return self._sites.operator(node.index)
