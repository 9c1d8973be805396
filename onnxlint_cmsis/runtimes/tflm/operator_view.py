"""One operator of a file with its tensors at hand, as a kernel sees it."""

from __future__ import annotations

from math import copysign, inf, isfinite, prod
from struct import pack, unpack

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import packed_bytes

BITS = {
    "FLOAT32": 32, "FLOAT16": 16, "INT32": 32, "UINT8": 8, "INT64": 64, "BOOL": 8, "INT16": 16, "COMPLEX64": 64,
    "INT8": 8, "FLOAT64": 64, "COMPLEX128": 128, "UINT64": 64, "UINT32": 32, "UINT16": 16, "INT4": 4, "BFLOAT16": 16,
    "RESOURCE": 32,
}  # fmt: skip
"""Bits of one element; other types have no fixed size (lite/micro/memory_helpers.cc)."""

INTEGER = ("INT8", "INT16")
"""Types of quantized activations."""


def single(value: float) -> float:
    """The nearest number of single precision; the infinite ones stay."""
    if not isfinite(value):
        return value
    try:
        rounded: float = unpack("<f", pack("<f", value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def tensor_bytes(tensor: TfliteTensor) -> int:
    """Bytes of a tensor's values; int4 packs two to a byte."""
    return packed_bytes(prod(tensor.shape), BITS.get(tensor.elem_type, 0))


def quantized(tensor: TfliteTensor) -> bool:
    """Tell if the tensor gets a quantization: it needs scales and zero-points (lite/micro/micro_allocator.cc:275)."""
    return tensor.quantization is not None and bool(tensor.quantization.zero_points)


def zero_point(tensor: TfliteTensor) -> int:
    """First zero-point of a tensor, 0 where it has none."""
    return tensor.quantization.zero_points[0] if tensor.quantization and quantized(tensor) else 0


def scale(tensor: TfliteTensor) -> float:
    """First scale of a tensor, 0 where it has none."""
    return tensor.quantization.scales[0] if tensor.quantization and quantized(tensor) else 0.0


class VariableUse(NamedTuple):
    """What an operator does with a resource variable."""

    bytes_: int
    """Bytes of the variable's values; 0 for one that no operator allocates."""
    allocates: bool
    """Whether the operator allocates them while it is prepared."""
    variables: int
    """How many variables the model has."""


class OperatorView(NamedTuple):
    """One operator with its tensors."""

    model: TfliteModel
    """The file."""
    subgraph: Subgraph
    """Subgraph that the operator is in."""
    operator: TfliteOperator
    """The operator."""
    number: int
    """Its number in the subgraph."""
    read: frozenset[int]
    """Tensors that some operator of the subgraph reads."""
    variable: VariableUse | None = None
    """What it does with a resource variable; None where it names none, or is handed one by another operator."""
    scratch_before: int = 0
    """Scratch requests of the operators before this one."""

    def input(self, position: int) -> TfliteTensor | None:
        """An input, None where it is omitted or not there."""
        inputs = self.operator.inputs
        index = inputs[position] if position < len(inputs) else -1
        return self.subgraph.tensors[index] if index >= 0 else None

    def output(self, position: int = 0) -> TfliteTensor | None:
        """An output, None where there is none."""
        outputs = self.operator.outputs
        return self.subgraph.tensors[outputs[position]] if position < len(outputs) else None

    @property
    def tensors(self) -> list[TfliteTensor]:
        """All that it reads and writes."""
        numbers = (*self.operator.inputs, *self.operator.outputs)
        return [self.subgraph.tensors[number] for number in numbers if number >= 0]

    def constant(self, tensor: TfliteTensor | None) -> bool:
        """Tell whether the file holds the tensor's values."""
        return tensor is not None and self.model.is_constant(tensor)

    def option(self, name: str, default: int = 0) -> int:
        """A whole number among the options."""
        value = self.operator.options.get(name, default)
        return int(value) if isinstance(value, int) else default

    def text(self, name: str) -> str:
        """An option that is an enumeration, by name; empty where it is missing."""
        value = self.operator.options.get(name, "")
        return value if isinstance(value, str) else ""


def operator_views(model: TfliteModel) -> list[OperatorView]:
    """Every operator, subgraph by subgraph."""
    graphs = model.subgraphs
    read = [frozenset(number for operator in graph.operators for number in operator.inputs) for graph in graphs]
    return [
        OperatorView(model, graphs[graph], operator, index, read[graph]) for graph, index, operator in model.operators()
    ]
