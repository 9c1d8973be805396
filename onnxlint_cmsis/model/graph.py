"""The graph the analysis works on: plain data, no protobuf, subgraphs and local functions laid flat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, SupportsIndex, overload

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.ground.types import Size

Attribute = int | float | str | bytes | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
Number = int | float

TFLITE = "tflite"
"""Domain of TensorFlow Lite's builtin operators; custom ones have `tflite.custom` and their own name."""
MAX_VALUES = 65536
"""Values of the largest constant that is read to lint."""


class Tensor(NamedTuple):
    """Element type and shape of a value, as far as known."""

    name: str
    """Key, unique in the flattened graph: `then_branch/x` for a value inside a subgraph."""
    elem_type: str
    """numpy-like name (`float32`, `int8`, `uint4`), empty where unknown."""
    shape: tuple[Size, ...] | None
    """Sizes, None in place of a symbolic one; None where even the rank is unknown."""


class Constant(NamedTuple):
    """A value fixed in the file: initializer, Constant node, or folded from them without reading weights."""

    name: str
    """Key of the tensor."""
    elem_type: str
    """numpy-like name of the element type."""
    shape: tuple[int, ...]
    """Sizes."""
    read: Callable[[], tuple[Number, ...] | None]
    """Flat values, read on demand; None where there are more than MAX_VALUES or they cannot be read."""
    overridable: bool = False
    """Also a graph input in IR >= 4, so a caller may replace it."""
    editable: bool = True
    """Stored as a list of values that can be changed one by one; a sparse tensor and a single number are not."""

    def values(self) -> tuple[Number, ...] | None:
        """Flat values in row-major order, or None where they are too many to read while linting."""
        return self.read()

    def integers(self) -> tuple[int, ...] | None:
        """Flat values where all are integers, as of sizes and axes; None where one is not, or they are not known."""
        values = self.read()
        integers = tuple(value for value in values or () if isinstance(value, int))
        return integers if values is not None and len(integers) == len(values) else None


class Names(tuple[str, ...]):
    """Keys of tensors by position; a position past the last reads as empty, the name of an omitted tensor.

    So ONNX has it: inputs at the end may be left off. A damaged file may leave off any.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, position: SupportsIndex, /) -> str: ...

    @overload
    def __getitem__(self, position: slice, /) -> tuple[str, ...]: ...

    def __getitem__(self, position: SupportsIndex | slice, /) -> str | tuple[str, ...]:
        """The key at a position, or those of a slice."""
        try:
            return tuple.__getitem__(self, position)  # faster than super()
        except IndexError:
            return ""


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One operator of the flattened graph."""

    index: int
    """Position in `Graph.nodes`."""
    name: str
    """Name in the file, possibly empty."""
    op_type: str
    """Operator."""
    domain: str
    """Operator set domain, empty for the default one (`ai.onnx` is normalised to it)."""
    opset: int
    """Version of that operator set the model imports; 0 where it does not."""
    inputs: tuple[str, ...]
    """Keys of the input tensors, empty string for an omitted one."""
    outputs: tuple[str, ...]
    """Keys of the output tensors, empty string for an omitted one."""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    """Attributes with plain values; tensors and graphs are kept elsewhere."""
    graph: str = ""
    """Path of enclosing subgraphs and functions, empty for the main graph."""
    bodies: tuple[Body, ...] = ()
    """Subgraphs of If, Loop, Scan."""
    offset: int = -1
    """First byte of the node's message in the file; -1 where unknown."""
    length: int = -1
    """Bytes of the node's message in the file."""

    def __post_init__(self) -> None:
        """Make a tensor that the file leaves off one without a name."""
        object.__setattr__(self, "inputs", Names(self.inputs))
        object.__setattr__(self, "outputs", Names(self.outputs))

    @property
    def label(self) -> str:
        """Name for messages: the node's own, or operator and position."""
        return self.name or f"{self.op_type}#{self.index}"

    @property
    def reads(self) -> tuple[str, ...]:
        """Its inputs and, of a control-flow node, the outputs of its bodies."""
        return (*self.inputs, *(key for body in self.bodies for key in body.outputs))

    def has(self, position: int) -> bool:
        """Tell whether it has an input; False for a position outside, and for an omitted one."""
        return 0 <= position < len(self.inputs) and tuple.__getitem__(self.inputs, position) != ""

    def is_op(self, *op_types: str) -> bool:
        """True for one of the operators of the default domain."""
        return self.domain == "" and self.op_type in op_types

    def ints(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """A list-of-ints attribute, or the default where it is absent or of another kind."""
        value = self.attributes.get(name)
        return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else default

    def permutation(self, rank: int) -> tuple[int, ...] | None:
        """Order of the axes of a Transpose; None where `perm` does not name each of `rank` axes once."""
        order = self.ints("perm") or tuple(reversed(range(rank)))
        return order if sorted(order) == [*range(rank)] else None

    def int(self, name: str, default: int = 0) -> int:
        """An integer attribute, or the default."""
        value = self.attributes.get(name)
        return value if isinstance(value, int) else default

    def number(self, name: str, default: float) -> float:
        """A float attribute, which files write as an integer too, or the default."""
        value = self.attributes.get(name)
        return float(value) if isinstance(value, (int, float)) else default

    def text(self, name: str, default: str = "") -> str:
        """A string attribute, or the default."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) else default


class StoredQuantization(NamedTuple):
    """Quantization that a format keeps on the tensor: real = scale × (stored − zero-point)."""

    scales: tuple[float, ...]
    """One, or one for each index of the axis."""
    zero_points: tuple[int, ...]
    """Zero-points, as many as scales in a sound file."""
    axis: int = 0
    """Axis of the scales where there are several."""


class Signature(NamedTuple):
    """A named way to call the model (TFLite)."""

    key: str
    """Its name."""
    main: bool
    """Whether it enters the main graph; what another one names is not kept."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Name and tensor of each input, sorted."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Name and tensor of each output, sorted."""


class Body(NamedTuple):
    """One subgraph of a control-flow node."""

    attribute: str
    """`then_branch`, `else_branch` or `body`."""
    inputs: tuple[str, ...]
    """Keys of its formal inputs."""
    outputs: tuple[str, ...]
    """Keys of its outputs."""
    path: str
    """`Node.graph` of the nodes in it."""


class Problem(NamedTuple):
    """Something wrong with the file that does not stop the reading."""

    kind: str
    """`invalid` (onnx.checker or our own validation), `oversized` (a size no tensor has), `undecided`, `external`."""
    message: str
    """Found and allowed values."""
    node: str = ""
    """Label of the node, where one is meant."""
    vendor: bool = False
    """Whether it is nothing but an operator that the onnx package does not know."""
    do: str = ""
    """What mends it, as a sentence; empty where that does not follow from the message."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A model, flattened: nodes in file order, each subgraph's and inlined function's after the node that holds it."""

    path: str
    """File as the user named it."""
    nodes: tuple[Node, ...]
    """All nodes."""
    tensors: dict[str, Tensor]
    """Every value with its known type and shape."""
    constants: dict[str, Constant]
    """Values fixed in the file."""
    inputs: tuple[str, ...]
    """Keys of the main graph's inputs that are not constants."""
    outputs: tuple[str, ...]
    """Keys of the main graph's outputs."""
    producers: dict[str, Node]
    """Node that makes each value."""
    consumers: dict[str, tuple[Node, ...]]
    """Nodes that read each value, once per node; control-flow nodes read their bodies' outputs."""
    problems: tuple[Problem, ...] = ()
    """Problems of the file."""
    metadata: dict[str, str] = field(default_factory=dict)
    """The model's metadata_props."""
    node_metadata: dict[int, dict[str, str]] = field(default_factory=dict)
    """metadata_props of nodes that have any, by `Node.index`."""
    has_functions: bool = False
    """Whether calls of local functions were laid flat; then only nodes of the main graph stand in the file once."""
    quantization: dict[str, StoredQuantization] = field(default_factory=dict)
    """Quantization by tensor, where the format keeps it there (TFLite); ONNX has nodes for it."""
    variables: frozenset[str] = frozenset()
    """Tensors that keep their values from one run to the next (TFLite)."""
    once: frozenset[int] = frozenset()
    """Indexes of nodes that the first run alone computes: the bodies of CALL_ONCE (TFLite)."""
    signatures: tuple[Signature, ...] = ()
    """Named ways to call the model (TFLite)."""
    producer: str = ""
    """Program that wrote the file, as the file names it; empty where it does not."""
    searched: dict[tuple[str, str], Any] = field(default_factory=dict, init=False)
    """What a search gave, by its name and the tensor it began at: the same search is made once."""

    @cached_property
    def ends(self) -> frozenset[str]:
        """The outputs, to look one up among thousands."""
        return frozenset(self.outputs)

    def shape(self, name: str) -> tuple[Size, ...] | None:
        """Shape of a value, None where the rank is unknown."""
        tensor = self.tensors.get(name)
        return tensor.shape if tensor else None

    @property
    def open_inputs(self) -> list[str]:
        """Inputs that lack sizes, as --input-shape takes them: `x=1,3,?,?`."""
        texts = []
        for name in self.inputs:
            shape = self.shape(name)
            if shape is None or None in shape:
                sizes = "?" if shape is None else ",".join("?" if size is None else str(size) for size in shape)
                texts.append(f"{name}={sizes}")
        return texts

    def stores(self, name: str) -> bool:
        """Tell if the file itself holds a value, as an initializer or in a Constant node, so that it can be edited."""
        producer = self.producers.get(name)
        return name in self.constants and (producer is None or producer.is_op("Constant"))

    def only_reader(self, name: str) -> Node | None:
        """The one node that reads a value and makes another; None for several, none, or an output of the model."""
        readers = self.consumers.get(name, ())
        return readers[0] if len(readers) == 1 and name not in self.ends and readers[0].outputs else None

    def elem_type(self, name: str) -> str:
        """Element type of a value, empty where unknown."""
        tensor = self.tensors.get(name)
        return tensor.elem_type if tensor else ""
