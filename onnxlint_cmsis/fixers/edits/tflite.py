"""Edits put into a `.tflite` file."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.classes import Dimensions, Use
from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.fixers.planning.layouts import Places, check_plan
from onnxlint_cmsis.fixers.planning.model_edits import BiasEdit, ConstantEdit, model_edits
from onnxlint_cmsis.fixers.planning.plan import Kept
from onnxlint_cmsis.fixers.planning.size_numbers import AttributeEdit
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.formats.onnx import document
from onnxlint_cmsis.formats.tflite.edit import NewTensor, TfliteEdit
from onnxlint_cmsis.formats.tflite.file_model import OperatorPlace, TensorPlace, elem_type
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.axes import leaves, resized
from onnxlint_cmsis.model.graph import StoredQuantization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxlint_cmsis.fixers.planning.plan import Plan
    from onnxlint_cmsis.formats.onnx.document import Codes
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.model.graph import Graph, Node


# Constants as bit patterns, and new biases in the unit of a layer's sum.


WIDE_BIAS = "INT16"
"""Type of data whose layers have int64 biases; those of other integers have int32."""


def stored_elements(model: TfliteModel, tensor: TfliteTensor) -> StoredElements:
    """Elements of a constant. Raises NotAppliedError for forms that are not edited."""
    kind, raw = elem_type(tensor), model.bytes_of(tensor.buffer)
    bits = document.BITS.get(kind, 0)
    if tensor.encoding or not bits or kind.startswith(("complex", "string")):
        raise NotAppliedError(f"constant `{tensor.name}` is stored in a form that is not edited")
    if len(raw) != packed_bytes(prod(tensor.shape), bits):
        raise NotAppliedError(f"constant `{tensor.name}` has {len(raw)} bytes, which do not fit its shape")
    return StoredElements(document.unpacked(raw, bits, tensor.shape), kind)


def new_bias(
    data: TfliteTensor, weights: TfliteTensor, factors: StoredQuantization | None, values: npt.NDArray[np.generic]
) -> NewTensor:
    """A bias of these values; `factors` are the scales of the weights, which may differ from those in the file."""
    scales = data.quantization
    if scales is None or factors is None:
        return NewTensor(f"{weights.name}_bias", "FLOAT32", values.shape, values.astype("<f4").tobytes())
    wide = data.elem_type == WIDE_BIAS
    products = tuple(float(np.float32(scales.scales[0]) * np.float32(scale)) for scale in factors.scales)
    quantization = StoredQuantization(products, (0,) * len(products), 0)
    raw = values.astype("<i8" if wide else "<i4").tobytes()
    return NewTensor(f"{weights.name}_bias", "INT64" if wide else "INT32", values.shape, raw, quantization)


# From the flat graph back to the file: operators and tensors by where the file has them.


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


# Edits of the main subgraph, for repairs.


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
        form = codes.shape, document.packed(codes, document.BITS[elem_type])
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


# A plan applied to a `.tflite` file.


def apply_to_tflite(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The bytes of a new file; `graph` and `dimensions` are those of `data`. Raises NotAppliedError, ModelError."""
    return _Resize(data, graph, dimensions, plan).data()


class _Resize:
    """One plan applied to one file."""

    def __init__(self, data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> None:
        self._edit = TfliteEdit(graph.path, data)
        self._uses, self._plan = Uses(graph, dimensions), plan
        self._sites = TfliteSites(self._edit, graph)
        self._scales: dict[TensorPlace, StoredQuantization] = {}

    def data(self) -> bytes:
        """The new file."""
        check_plan(self._uses, self._plan)
        edits = model_edits(self._uses, self._plan, self._read)
        for constant in edits.constants:
            self._constant(constant)
        for edit in edits.attributes:
            self._attribute(edit)
        for bias in edits.biases:
            self._bias(bias)
        self._follow(self._plan.kept)
        return self._edit.data()

    def _read(self, use: Use) -> StoredElements:
        """Elements of a stored constant. Raises NotAppliedError."""
        return stored_elements(self._edit.model, self._edit.tensor(self._sites.read_by(use)))

    def _constant(self, edit: ConstantEdit) -> None:
        """Write a constant in place, or as a copy for its uses."""
        site = self._sites.read_by(edit.uses[0])
        scales = _moved(self._edit.tensor(site), edit.places)
        raw = document.packed(edit.codes, document.BITS[edit.elem_type])
        self._sites.write(edit.uses, edit.codes.shape, raw, scales, copied=edit.copied)
        if scales is not None and not edit.copied:
            self._scales[site] = scales
        for use in edit.uses:
            self._restate(use, edit)

    def _restate(self, use: Use, edit: ConstantEdit) -> None:
        """Repeat in an operator's options the sizes that its input gives, where they stood there before."""
        site = self._sites.operator(use[0])
        stated = self._edit.operator(site).options.get("new_shape")
        if use[1] == 1 and isinstance(stated, tuple) and len(stated) == edit.codes.size:
            values = edit.codes.view(np.dtype(edit.elem_type)).reshape(-1)
            self._edit.set_option(site, "new_shape", tuple(int(value) for value in values))

    def _attribute(self, edit: AttributeEdit) -> None:
        """Write one number of an option."""
        site = self._sites.operator(edit.node)
        value = self._edit.option(site, edit.attribute)
        if isinstance(value, tuple):
            numbers = [int(number) for number in value]
            numbers[edit.element] = edit.value
            self._edit.set_option(site, edit.attribute, tuple(numbers))
        else:
            self._edit.set_option(site, edit.attribute, edit.value)

    def _bias(self, bias: BiasEdit) -> None:
        """Give a layer a bias that holds its increments, in the unit of its sum."""
        node = self._uses.graph.nodes[bias.reader]
        data, weights = self._sites.tensors[node.inputs[0]], self._sites.tensors[node.inputs[1]]
        factors = self._scales.get(weights, self._edit.tensor(weights).quantization)
        values = bias.codes.view(np.dtype(bias.elem_type))
        new = new_bias(self._edit.tensor(data), self._edit.tensor(weights), factors, values)
        site = self._sites.operator(bias.node)
        self._edit.set_input(site, bias.position, self._edit.add_tensor(site.subgraph, new))

    def _follow(self, kept: Kept) -> None:
        """Give every tensor that operators compute its new sizes. Raises NotAppliedError."""
        sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
        for key, site in self._sites.tensors.items():
            axes = self._uses.dimensions.axes(key) or ()
            if self._uses.stored(key) or not any(leaf in sizes for axis in axes for leaf in leaves(axis)):
                continue
            shape = [resized(axis, sizes) for axis in axes]
            if None in shape:
                raise NotAppliedError(f"the new shape of `{key}` is not known")
            stored = self._edit.tensor(site).quantization
            if stored is not None and len(stored.scales) > 1:
                raise NotAppliedError(f"`{key}` has a scale for each channel and is computed")
            self._edit.set_shape(site, [size or 0 for size in shape])


def _moved(tensor: TfliteTensor, places: Sequence[Places | None]) -> StoredQuantization | None:
    """Scales and zero-points where their axis is rearranged; a new index takes those of the first one.

    A vector has one axis, whatever older converters wrote. Raises NotAppliedError for scales that lie along no axis.
    """
    old = tensor.quantization
    if old is None or len(old.scales) < 2 or not places:
        return old
    axis = old.axis if len(places) > 1 else 0
    if not 0 <= axis < len(places) or tensor.shape[axis] != len(old.scales):
        raise NotAppliedError(f"`{tensor.name}` has {len(old.scales)} scales that do not lie along axis {old.axis}")
    chosen = places[axis]
    if chosen is None:
        return old
    scales = tuple(old.scales[index or 0] for index in chosen)
    if len(old.zero_points) != len(old.scales):
        return old._replace(scales=scales)
    return old._replace(scales=scales, zero_points=tuple(old.zero_points[index or 0] for index in chosen))
