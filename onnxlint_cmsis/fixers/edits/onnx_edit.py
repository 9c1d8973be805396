"""Edits of nodes and constants of an ONNX model's main graph, for repairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.fixers.edits.onnx_sites import NodeSite, NodeSites
from onnxlint_cmsis.fixers.edits.onnx_store import Store, connect, forget
from onnxlint_cmsis.formats.onnx.walk import all_graphs
from onnxlint_cmsis.formats.onnx.whole_model import whole_model
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

    from onnxlint_cmsis.fixers.planning.elements import StoredElements
    from onnxlint_cmsis.formats.onnx.element_codes import Codes
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.real_values import Read
    from onnxlint_cmsis.model.graph import Graph, Node


class GraphEdit:
    """A copy of a model in the making; nodes are named by `Node.index` of its graph before all edits."""

    def __init__(
        self,
        data: bytes,
        graph: Graph,
        clean: Callable[[KernelCall], bool],
        records: tuple[LoweredLayer, ...] = (),
        read: Read = lambda _key: None,
    ) -> None:
        """`graph` is that of `data`, `records` what it lowers to, `read` gives its constants. Raises NotAppliedError.

        `clean` tells that a call meets no hazard on a target.
        """
        self._model = whole_model(data)
        self.graph, self.clean, self.records, self.read = graph, clean, records, read
        self.requantized_tensors: set[str] = set()
        """Tensors of integers that got another scale or zero-point."""
        self._sites = NodeSites(self._model, graph)
        self._store = Store(self._model, graph.path)

    @property
    def default_opset(self) -> int:
        """Version of the default operator set that the model imports; 0 where it does not."""
        return next((opset.version for opset in self._model.opset_import if opset.domain in ("", "ai.onnx")), 0)

    def inputs(self, node: Node) -> list[str]:
        """Names of a node's inputs as they are now."""
        return list(self.site(node).node.input)

    def data(self) -> bytes:
        """The model as it is now."""
        data: bytes = self._model.SerializeToString()
        return data

    def site(self, node: Node) -> NodeSite:
        """A node of the main graph. Raises NotAppliedError for one in a subgraph or local function."""
        if node.graph:
            raise NotAppliedError(f"{node.label} is in a subgraph")
        return self._sites.site(node.index)

    def stored(self, node: Node, position: int) -> StoredElements:
        """Elements of the stored constant that a node reads. Raises NotAppliedError."""
        self.site(node)
        return self._store.read(self._sites.home((node.index, position)))

    def add_constant(self, name: str, elem_type: str, codes: Codes) -> str:
        """Store a new constant of these bit patterns under a name, or one like it; returns the name."""
        return self._store.store(self._model.graph, self._store.unused(name), elem_type, codes)

    def add_integers(self, name: str, values: Sequence[int]) -> str:
        """Store a vector of int64 under a name, or one like it; returns the name."""
        return self.add_constant(name, "int64", np.array(values, "<i8").view("<u8"))

    def fresh(self, name: str) -> str:
        """The name where nothing in the model has it, else one like it."""
        return self._store.unused(name)

    def connect(self, node: Node, position: int, name: str) -> None:
        """Make a node read another tensor at an input, which it may not have had so far."""
        connect(self.site(node).node, position, name)

    def insert(self, before: Node, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any) -> None:
        """Put a new node right before another one; `more` are its domain and attributes."""
        from onnx import helper

        self._insert(
            before, helper.make_node(op_type, list(inputs), list(outputs), self.fresh(f"{outputs[0]}_node"), **more)
        )

    def insert_behind(
        self, node: Node, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any
    ) -> None:
        """Put a new node right behind another one; `more` are its domain and attributes."""
        from onnx import helper

        position = self._position(self.site(node).node) + 1
        name = self.fresh(f"{outputs[0]}_node")
        self._model.graph.node.insert(position, helper.make_node(op_type, list(inputs), list(outputs), name, **more))

    def insert_like(
        self, before: Node, node: Node, name: str, inputs: Sequence[str], outputs: Sequence[str], **changed: Any
    ) -> None:
        """Put a copy of a node, with other inputs and outputs and some attributes changed, right before another one."""
        new = type(self.site(node).node)()
        new.CopyFrom(self.site(node).node)
        new.name = self.fresh(name)
        new.input[:], new.output[:] = list(inputs), list(outputs)
        _set(new, changed, ())
        self._insert(before, new)

    def set_attributes(self, node: Node, *dropped: str, **values: Any) -> None:
        """Give a node these attributes, and take others away."""
        _set(self.site(node).node, values, dropped)

    def forget(self, tensor: str) -> None:
        """Take out what the model states of a tensor's type and shape."""
        forget(self._model.graph, {tensor})

    def remove(self, node: Node) -> None:
        """Take a node out, with what the model states of its outputs' shapes."""
        self._take_out(self.site(node).node)

    def add_reals(self, name: str, values: NDArray[np.float64]) -> str:
        """Store a constant of float32 under a name, or one like it; returns the name."""
        return self.add_constant(name, "float32", np.ascontiguousarray(values, "<f4").view("<u4"))

    def write(self, node: Node, tensor: str) -> None:
        """Let a node write its first output under another name, which nothing else writes by now."""
        written = self.site(node).node
        forget(self._model.graph, {written.output[0]})
        written.output[0] = tensor

    def requantized(self, before: Node, tensor: str, like: Node) -> str:
        """Put a QuantizeLinear and a DequantizeLinear before a node, of the parameters of the DequantizeLinear `like`.

        Returns the name of what the second one makes of the tensor.
        """
        proto = self.site(like).node
        integers, reals = self.fresh(f"{tensor}_quantized"), self.fresh(f"{tensor}_real")
        parameters = list(proto.input)[1:]
        axis = {attribute.name: attribute.i for attribute in proto.attribute if attribute.name == "axis"}
        for op_type, source, result in (
            (QUANTIZE_LINEAR.name, tensor, integers),
            (DEQUANTIZE_LINEAR.name, integers, reals),
        ):
            self.insert(before, op_type, [source, *parameters], [result], domain=proto.domain, **axis)
        return reals

    def drop_unread(self) -> None:
        """Take out nodes and initializers of the main graph that these edits left without a reader.

        Graphs inside nodes read tensors of the main graph as well.
        """
        before = {name for node in self.graph.nodes for name in node.inputs}
        handed = {value.name for value in (*self._model.graph.output, *self._model.graph.input)}
        while True:
            graphs = list(all_graphs(self._model.graph))
            kept = {name for graph in graphs for node in graph.node for name in node.input} | handed
            kept |= {value.name for graph in graphs[1:] for value in graph.output}
            gone = [node for node in self._model.graph.node if _idle(node.output, before, kept)]
            if not gone:
                break
            for node in gone:
                self._take_out(node)
        for tensor in [tensor for tensor in self._model.graph.initializer if _idle([tensor.name], before, kept)]:
            self._model.graph.initializer.remove(tensor)

    def _take_out(self, node: NodeProto) -> None:
        outputs = {*node.output}
        del self._model.graph.node[self._position(node)]
        forget(self._model.graph, outputs)

    def _insert(self, before: Node, node: NodeProto) -> None:
        self._model.graph.node.insert(self._position(self.site(before).node), node)

    def _position(self, node: NodeProto) -> int:
        """Where a node stands in the main graph; one of the same contents beside it is another node."""
        return next(index for index, present in enumerate(self._model.graph.node) if present is node)


def _idle(names: Sequence[str], before: set[str], kept: set[str]) -> bool:
    """Tell whether values that had a reader have none any more."""
    return any(name in before for name in names) and not any(name in kept for name in names)


def _set(node: NodeProto, values: Mapping[str, Any], dropped: Collection[str]) -> None:
    """Give a node these attributes, none for an empty list, and drop others."""
    from onnx import helper

    new = type(node)()
    new.attribute.extend(
        attribute for attribute in node.attribute if attribute.name not in values and attribute.name not in dropped
    )
    new.attribute.extend(helper.make_attribute(key, value) for key, value in values.items() if value != [])
    del node.attribute[:]
    node.attribute.extend(new.attribute)
