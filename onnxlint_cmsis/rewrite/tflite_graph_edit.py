"""Edits of operators and constants of a `.tflite` file's main subgraph, for repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.formats.tflite.new_objects import NewTensor
from onnxlint_cmsis.formats.tflite.tflite_edit import TfliteEdit
from onnxlint_cmsis.rewrite.tflite_constants import new_bias, stored_elements
from onnxlint_cmsis.rewrite.tflite_places import TflitePlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from onnxlint_cmsis.formats.onnx_graph.tensor_codes import Codes
    from onnxlint_cmsis.formats.tflite.file_places import OperatorPlace, TensorPlace
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.rewrite.build import StoredElements
    from onnxlint_cmsis.rewrite.uses import Use
    from onnxlint_cmsis.types import KernelCall


class TfliteGraphEdit:
    """A copy of a file in the making; nodes are named by `Node.index` of its graph before all edits."""

    def __init__(self, data: bytes, graph: Graph, clean: Callable[[KernelCall], bool]) -> None:
        """`graph` is that of `data`; `clean` tells that a call meets no hazard on a target. Raises NotAppliedError."""
        self.graph, self.clean = graph, clean
        self._edit = TfliteEdit(graph.path, data)
        self._places = TflitePlaces(self._edit.model, graph)
        self._written: dict[str, dict[tuple[tuple[int, ...], bytes], list[Use]]] = {}

    def data(self) -> bytes:
        """The file as it is now; to be asked for once. Raises NotAppliedError."""
        for key, forms in self._written.items():
            readers = sum(node.inputs.count(key) for node in self.graph.consumers[key])
            free = readers == sum(map(len, forms.values()))
            for place, ((shape, raw), uses) in enumerate(forms.items()):
                self._store(shape, raw, uses, copied=place > 0 or not free)
        return self._edit.data()

    def drop_unread(self) -> None:
        """Nothing: these edits leave no constant without a reader."""

    def stored(self, node: Node, position: int) -> StoredElements:
        """Elements of the stored constant that a node reads. Raises NotAppliedError."""
        return stored_elements(self._edit.model, self._edit.tensor(self._read(node, position)))

    def write(self, node: Node, position: int, codes: Codes, elem_type: str) -> None:
        """Give a node another constant; other nodes that read the old one keep it."""
        self._place(node)
        form = codes.shape, tensor_codes.packed(codes, tensor_codes.BITS[elem_type])
        self._written.setdefault(node.inputs[position], {}).setdefault(form, []).append((node.index, position))

    def _store(self, shape: tuple[int, ...], raw: bytes, uses: Sequence[Use], *, copied: bool) -> None:
        """Write one form of a constant in place, or as a copy for its uses."""
        place = self._places.read_by(uses[0])
        if not copied:
            self._edit.set_values(place, raw)
            self._edit.set_shape(place, shape)
            return
        tensor = self._edit.tensor(place)
        new = NewTensor(f"{tensor.name}_2", tensor.elem_type, shape, raw, tensor.quantization)
        copy = self._edit.add_tensor(place.subgraph, new)
        for index, position in uses:
            self._edit.set_input(self._places.operator(index), position, copy)

    def add_bias(self, node: Node, position: int, values: npt.NDArray[np.generic]) -> None:
        """Give a layer a bias in the unit of its sum."""
        data, weights = (self._edit.tensor(self._read(node, place)) for place in (0, 1))
        new = new_bias(data, weights, weights.quantization, values)
        self._edit.set_input(self._place(node), position, self._edit.add_tensor(0, new))

    def _read(self, node: Node, position: int) -> TensorPlace:
        self._place(node)
        return self._places.read_by((node.index, position))

    def _place(self, node: Node) -> OperatorPlace:
        """An operator of the main subgraph. Raises NotAppliedError for one in another."""
        if node.graph:
            raise NotAppliedError(f"{node.label} is in a subgraph")
        return self._places.operator(node.index)
