"""What an operator's inputs are for: one set of positions per operator."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.named_tuples import NamedTuple


class Form(str, Enum):
    """How the weights of a layer lie."""

    CONVOLUTION = "convolution"
    """[M, C / group, kernel...]."""
    TRANSPOSED = "transposed convolution"
    """[C, M / group, kernel...]."""
    MATMUL = "matmul"
    """[..., K, N], or a vector."""
    GEMM = "gemm"
    """[K, N], with `transB` [N, K]; of rank 2."""
    CHANNELS_LAST = "convolution, channels last"
    """[M, kernel..., C / group]; the data has its channels last too."""
    DEPTHWISE_LAST = "depthwise convolution, channels last"
    """[1, kernel..., C x multiplier]; the data has its channels last too."""
    TRANSPOSED_LAST = "transposed convolution, channels last"
    """[M, kernel..., C]; the data has its channels last too."""
    ROWS = "rows"
    """[N, K]."""


class Sums(str, Enum):
    """In which numbers a layer multiplies and sums."""

    FLOAT = "float"
    """Real numbers; the bias is real too."""
    INTEGERS = "integers"
    """int32; the bias is int32 and is added before any scale."""
    SCALED = "scaled integers"
    """int32, scaled to real numbers; the bias is real and is added behind the scale."""
    STORED = "as the data is stored"
    """INTEGERS where data and weights are stored in integers, FLOAT where neither is, else SCALED (`sums_of`)."""


class Quantized(NamedTuple):
    """A quantized value with its parameters."""

    value: int
    """Input that holds it; -1 for the first output."""
    scale: int
    """Input with its scale; -1 where the operator takes none."""
    zero_point: int
    """Input with its zero-point."""


class Roles(NamedTuple):
    """Positions of an operator's inputs by what they are for; -1 or nothing where it has none."""

    data: tuple[int, ...] = (0,)
    """Inputs that hold elements the result is made of, other than weights and bias."""
    step: int = 0
    """Distance at which more inputs like the last of `data` follow it; 0 where none do."""
    weights: tuple[int, ...] = ()
    """Inputs that may hold weights, the usual one first: for a matrix product either factor."""
    form: Form | None = None
    """How the weights lie; None for operators without."""
    sums: Sums | None = None
    """In which numbers it sums over its weights; None for operators without."""
    bias: int = -1
    """Vector with a number per output channel that is added to the sum."""
    summand: int = -1
    """A further tensor of the result's shape that is added to it."""
    quantized: tuple[Quantized, ...] = ()
    """Quantized values with their scales and zero-points, the result last."""
    sizes: tuple[int, ...] = ()
    """Inputs that hold sizes whose meaning the tie function tells itself."""

    def data_of(self, node: Node) -> Iterator[int]:
        """Data inputs that a node has."""
        places = (
            [*self.data, *range(self.data[-1] + self.step, len(node.inputs), self.step)] if self.step else self.data
        )
        return (place for place in places if place < len(node.inputs) and node.inputs[place])

    def quantized_of(self, inputs: int) -> tuple[Quantized, ...]:
        """Quantized values of a node with this many inputs: those of the record and of further operands."""
        if not self.step or not self.quantized:
            return self.quantized
        first = next(triple for triple in self.quantized if triple.value == self.data[-1])
        further = range(self.step, inputs - first.value, self.step)
        return (*self.quantized, *(Quantized(*(place + offset for place in first)) for offset in further))

    def holds_parameters(self, position: int, inputs: int) -> bool:
        """Whether an input of a node with this many inputs holds scales or zero-points."""
        return any(position in (each.scale, each.zero_point) for each in self.quantized_of(inputs))

    def zero_point_of(self, position: int, inputs: int) -> int | None:
        """Input with the zero-point of an input's quantized values; None where it holds none."""
        return next((each.zero_point for each in self.quantized_of(inputs) if each.value == position), None)

    def channel_axis(self, node: Node, position: int, rank: int) -> int:
        """Axis of an input's quantized values along which a vector of their scales or zero-points lies."""
        if self.form is None:
            return node.int("axis", 1) % rank if rank > 1 else 0
        if self.form in (Form.CONVOLUTION, Form.TRANSPOSED):
            return 0
        if self.form is Form.GEMM:
            return 0 if node.int("transB") else 1
        return rank - 1 if position else rank - 2

    @property
    def second(self) -> int:
        """The other operand: the weights where there are any, else the second data input; -1 for none."""
        if self.weights:
            return self.weights[0]
        return self.data[1] if len(self.data) > 1 else -1

    @property
    def zero_points(self) -> dict[int, int]:
        """Input that holds quantized values to the input with their zero-point."""
        return {triple.value: triple.zero_point for triple in self.quantized if triple.value >= 0}
