"""From the flat graph back to a `.tflite` file: operators and tensors by where the file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.analysis.constants import Use
    from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
    from onnxlint_cmsis.model.graph import Graph, StoredQuantization


class TfliteSites:
    """All nodes of a graph by `Node.index`, and its values by key."""

    def __init__(self, edit: TfliteEdit, graph: Graph) -> None:
        """Raises NotAppliedError where the graph is not that of the file."""
        model = edit.model
        self._edit, self._model = edit, model
        self._operators: dict[int, OperatorPlace] = {}
        self.tensors: dict[str, TensorPlace] = {}
        """Tensors that operators read or write."""
        sites = {
            operator.span.offset: OperatorPlace(number, index)
            for number, subgraph in enumerate(model.subgraphs)
            for index, operator in enumerate(subgraph.operators)
        }
        for node in graph.nodes:
            site = sites.get(node.offset)
            if site is None:
                raise NotAppliedError("the graph is not that of the model")
            self._operators[node.index] = site
            operator = model.subgraphs[site.subgraph].operators[site.number]
            for keys, tensors in ((node.inputs, operator.inputs), (node.outputs, operator.outputs)):
                values = zip(keys, tensors, strict=True)
                self.tensors |= {key: TensorPlace(site.subgraph, tensor) for key, tensor in values if key}

    def operator(self, index: int) -> OperatorPlace:
        """The operator of a node."""
        return self._operators[index]

    def read_by(self, use: Use) -> TensorPlace:
        """The tensor that a node reads."""
        site = self._operators[use[0]]
        return TensorPlace(site.subgraph, self._model.subgraphs[site.subgraph].operators[site.number].inputs[use[1]])

    def write(
        self,
        uses: Sequence[Use],
        shape: tuple[int, ...],
        raw: bytes,
        scales: StoredQuantization | None,
        *,
        copied: bool,
    ) -> None:
        """Write a constant in place, or as a copy for its uses."""
        site = self.read_by(uses[0])
        edit, tensor = self._edit, self._edit.tensor(site)
        if copied:
            new = NewTensor(f"{tensor.name}_2", tensor.elem_type, shape, raw, scales)
            copy = edit.add_tensor(site.subgraph, new)
            for node, position in uses:
                edit.set_input(self._operators[node], position, copy)
            return
        edit.set_values(site, raw)
        edit.set_shape(site, shape)
        if scales is not None and scales != tensor.quantization:
            edit.set_quantization(site, scales)
