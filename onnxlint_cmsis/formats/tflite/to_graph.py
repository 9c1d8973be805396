"""`load_tflite`: a `.tflite` file to a Graph.

An operator stays what TensorFlow Lite calls it: domain `tflite`, type `CONV_2D`, its options as attributes by the
schema's names, its tensors in their own layouts (NHWC, OHWI). ONNX's form would need nodes that the file lacks
(Transpose, Q/DQ, Relu of a fused activation), and findings would name them. What an operator means is for its record
to say. Quantization stays on the tensors, in `Graph.quantization`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.tflite.arrays import array_of, tensors_by_key
from onnxlint_cmsis.formats.tflite.computed_sizes import computed_sizes
from onnxlint_cmsis.formats.tflite.constants import constant, elem_type
from onnxlint_cmsis.formats.tflite.file_model import (
    ModelSignature,
    Subgraph,
    TfliteModel,
    TfliteOperator,
    operator_label,
)
from onnxlint_cmsis.formats.tflite.open_sizes import with_input_shapes, with_open_sizes, with_results
from onnxlint_cmsis.formats.tflite.operand_sizes import AxisError, NotComputedError
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import (
    TFLITE,
    Body,
    Constant,
    Graph,
    Node,
    Problem,
    Signature,
    StoredQuantization,
    Tensor,
)
from onnxlint_cmsis.model.leftovers import Left, Leftovers
from onnxlint_cmsis.model.made_up_names import unlike
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size


MAX_METADATA = 65536
"""Bytes of the longest metadata entry that is read as text."""


class LoadedTflite(NamedTuple):
    """A file and its graph."""

    file: TfliteModel
    """The file as plain data."""
    graph: Graph
    """Nodes, tensors and constants."""

    def digest(self) -> bytes | None:
        """SHA-256 of the file."""
        import hashlib

        return hashlib.sha256(self.file.data).digest()

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read the constants by their key in the graph, of any size, as they are stored.

        None for what is no constant, for other types than numbers, for sparse tensors and where bytes are missing.
        """
        tensors = tensors_by_key(self.file, self.graph)

        def read(key: str) -> NDArray[Any] | None:
            return array_of(self.file, tensors[key]) if key in self.graph.constants and key in tensors else None

        return read

    def leftovers(self) -> Leftovers:
        """What the file says and the graph does not keep."""
        from onnxlint_cmsis.formats.tflite import left

        try:
            of_node, tensors = left.of_operators(self.file), left.of_tensors(self.file)
            return Leftovers(
                {node.index: of_node[node.offset] for node in self.graph.nodes},
                dict(zip(main_keys(self.file), tensors[0], strict=True)),
                left.of_file(self.file),
            )
        except ModelError as error:  # tables that overlap, in a part that nothing has read so far
            return Leftovers(file=(Left(error.message, None),))

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of the main subgraph's results as LiteRT's kernels compute them, by key."""
        from onnxlint_cmsis.formats.tflite.followed_sizes import followed_sizes

        return followed_sizes(self.graph)


def load_tflite(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: Buffer | None = None,
) -> LoadedTflite:
    """Read a file, or `data` in its place (`path` is then its name), as a Graph; weights are not read.

    Sizes are those of the tensors' shapes, which runtimes allocate; a batch that the converter left open is 1 there,
    and other open sizes of inputs are unknown. `input_shapes` gives sizes of inputs by name, from which those of
    results follow: no runtime for devices resizes, so the file has to be converted with them.

    Raises ModelError with kind `unreadable`, `lfs-pointer`, `not-a-model` or `input-shape`.
    """
    file = read_tflite(path, data)
    refuse_axes(file)
    if not input_shapes:
        file = with_open_sizes(file)
        return LoadedTflite(file, to_graph(file))
    from onnxlint_cmsis.formats.tflite.followed_sizes import followed_sizes

    keys = tuple(main_keys(file))
    file = with_input_shapes(file, input_shapes, keys)
    followed = followed_sizes(to_graph(file))
    file = with_results(file, {number: followed[key] for number, key in enumerate(keys) if key in followed})
    return LoadedTflite(file, to_graph(file))


def refuse_axes(model: TfliteModel) -> None:
    """Raise ModelError (`not-a-model`) for the first axis that an operator names and its input does not have."""
    for number, index, operator in model.operators():
        try:
            computed_sizes(model, model.subgraphs[number], operator)
        except AxisError as reason:
            raise ModelError("not-a-model", f"{operator_label(number, index, operator.title)}: {reason}") from None
        except NotComputedError:
            continue


def to_graph(model: TfliteModel) -> Graph:
    """A file that was read as a Graph."""
    builder = _Builder(model)
    builder.add(0, "")
    builder.left_out()
    main = model.subgraphs[0]
    keys = builder.keys[0]
    return Graph(
        path=model.path,
        nodes=tuple(builder.nodes),
        tensors=builder.tensors,
        constants=builder.constants,
        inputs=tuple(keys[index] for index in main.inputs if keys[index] not in builder.constants),
        outputs=tuple(keys[index] for index in main.outputs),
        producers={key: node for node in builder.nodes for key in node.outputs},
        consumers=_consumers(builder.nodes),
        problems=tuple(builder.problems),
        metadata=_metadata(model),
        quantization=builder.quantization,
        variables=frozenset(builder.variables),
        once=frozenset(builder.once),
        signatures=tuple(sorted(_signature(signature, keys) for signature in model.signatures)),
    )


def _signature(signature: ModelSignature, keys: Sequence[str]) -> Signature:
    """A signature with keys of the main graph's tensors; a damaged one names none."""
    if signature.subgraph:
        return Signature(signature.key, main=False)
    sides = (signature.inputs, signature.outputs)
    inputs, outputs = (tuple(sorted((name, "".join(keys[at : at + 1])) for name, at in side)) for side in sides)
    return Signature(signature.key, True, inputs, outputs)


class _Builder:
    """Nodes and tensors of the subgraphs that the main one runs, bodies behind the operator that holds them."""

    def __init__(self, model: TfliteModel) -> None:
        self.model = model
        self.nodes: list[Node] = []
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[str, Constant] = {}
        self.quantization: dict[str, StoredQuantization] = {}
        self.variables: set[str] = set()
        self.problems: list[Problem] = []
        self.keys: dict[int, tuple[str, ...]] = {}
        self.once: set[int] = set()
        self.once_entered = model.runs_once()
        self.taken = names_of(model)

    def add(self, number: int, path: str) -> None:
        """A subgraph's tensors and operators; one that two operators run is added once."""
        subgraph = self.model.subgraphs[number]
        self.keys[number] = tensor_keys(subgraph, path, self.taken)
        for key, tensor in zip(self.keys[number], subgraph.tensors, strict=True):
            shape = tuple(None if size < 0 else size for size in tensor.shape)
            self.tensors[key] = Tensor(key, elem_type(tensor), shape)
            if tensor.quantization:
                # scales of a vector lie along it, whatever axis the file gives: converters write the weights' axis
                axis = 0 if len(shape) == 1 else tensor.quantization.axis
                self.quantization[key] = tensor.quantization._replace(axis=axis)
            if self.model.is_constant(tensor):
                self.constants[key] = constant(self.model, tensor, key)
            if tensor.is_variable:
                self.variables.add(key)
            if tensor.encoding:
                text = f"'{key}' is stored in a form ({tensor.encoding}) that is not read"
                self.problems.append(Problem("undecided", text))
        for index, operator in enumerate(subgraph.operators):
            self._operator(number, path, index, operator)

    def _operator(self, number: int, path: str, index: int, operator: TfliteOperator) -> None:
        keys = self.keys[number]
        position = len(self.nodes)
        custom = operator.op == "CUSTOM"
        node = Node(
            index=position,
            name=operator_label(number, index, operator.title),
            op_type=operator.title,
            domain=f"{TFLITE}.custom" if custom else TFLITE,
            opset=operator.version,
            inputs=tuple(keys[tensor] if tensor >= 0 else "" for tensor in operator.inputs),
            outputs=tuple(keys[tensor] for tensor in operator.outputs),
            attributes={
                name: int(value) if isinstance(value, bool) else value for name, value in operator.options.items()
            },
            graph=path,
            offset=operator.span.offset,
            length=operator.span.length,
        )
        self.nodes.append(node)
        if number in self.once_entered:
            self.once.add(position)
        holder = operator_label(0, index, operator.title)
        bodies = tuple(self._body(option, body, holder, path) for option, body in operator.bodies)
        self.nodes[position] = replace(node, bodies=bodies)

    def _body(self, option: str, number: int, holder: str, path: str) -> Body:
        """A body of a control-flow operator, added where it is met first."""
        name = option.removesuffix("_index")
        inner = f"{path}/{holder}/{name}" if path else f"{holder}/{name}"
        if number not in self.keys:
            self.add(number, inner)
        subgraph, keys = self.model.subgraphs[number], self.keys[number]
        return Body(name, tuple(keys[i] for i in subgraph.inputs), tuple(keys[i] for i in subgraph.outputs), inner)

    def left_out(self) -> None:
        """Say which subgraphs the main one never runs."""
        for number, subgraph in enumerate(self.model.subgraphs):
            if number not in self.keys:
                keys = [signature.key for signature in self.model.signatures if signature.subgraph == number]
                entered = f"only signature '{keys[0]}' enters it" if keys else "nothing enters it"
                text = f"subgraph {number} '{subgraph.name}' is not looked at: {entered}"
                self.problems.append(Problem("undecided", text))


def tensor_keys(subgraph: Subgraph, path: str, taken: set[str]) -> tuple[str, ...]:
    """A key for each tensor: its name, with its index where it has none or another has it, behind a path if there is.

    What is not a name of the main subgraph is made up, and unlike all that is taken (`names_of` to begin with).
    """
    seen: set[str] = set()
    keys: list[str] = []
    for index, tensor in enumerate(subgraph.tensors):
        name, new = tensor.name or "tensor", bool(tensor.name) and tensor.name not in seen
        seen.add(tensor.name)
        key = name if new else f"{name}#{index}"
        keys.append(key if new and not path else unlike(f"{path}/{key}" if path else key, taken))
    return tuple(keys)


def main_keys(model: TfliteModel) -> tuple[str, ...]:
    """A key for each tensor of the main subgraph."""
    return tensor_keys(model.subgraphs[0], "", names_of(model))


def names_of(model: TfliteModel) -> set[str]:
    """Every name that the file gives a tensor."""
    return {tensor.name for subgraph in model.subgraphs for tensor in subgraph.tensors}


def _consumers(nodes: list[Node]) -> dict[str, tuple[Node, ...]]:
    """Nodes that read each value, once per node; a control-flow node reads its bodies' outputs."""
    readers_of: dict[str, dict[int, Node]] = {}
    for node in nodes:
        for key in node.reads:
            if key:
                readers_of.setdefault(key, {})[node.index] = node
    return {key: tuple(readers.values()) for key, readers in readers_of.items()}


def _metadata(model: TfliteModel) -> dict[str, str]:
    """Metadata entries that are short text."""
    entries: dict[str, str] = {}
    for name, buffer in model.metadata:
        data = model.bytes_of(buffer) if model.buffers[buffer].length <= MAX_METADATA else b""
        text = data.rstrip(b"\0").decode("utf-8", "replace")
        if text and "\ufffd" not in text and name not in entries:
            entries[name] = text
    return entries
