"""What an operator's inputs are for, where the axes of its tensors lie, and where it states numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Node


class Form(Enum):
    """Order of the axes of a layer's weights, by letters.

    I and O are the input and output channels, 1 is an axis of that size, `*` stands for all further axes. The second
    text is I or O: the axis that has the channels of all groups, one group after the other; the other axis has those of
    one group.
    """

    CONVOLUTION = "OI*", "O"
    TRANSPOSED = "IO*", "I"
    CHANNELS_LAST = "O*I", "O"
    DEPTHWISE_LAST = "1*O", "O"
    """Each channel is a group."""
    TRANSPOSED_LAST = "O*I", "I"
    MATMUL = "*IO", "O"
    """The weights may be a vector."""
    GEMM = "IO", "O"
    """With `transB` the weights are OI."""
    ROWS = "OI", "O"

    def __init__(self, order: str, whole: str) -> None:
        self.order = order
        self.whole = whole

    @property
    def convolves(self) -> bool:
        """Tell whether the weights slide along a plane."""
        return self.order not in ("*IO", "IO", "OI")

    @property
    def depthwise(self) -> bool:
        """Tell whether each channel is a group by itself."""
        return "1" in self.order

    @property
    def transposed(self) -> bool:
        """Tell whether the weights have all input channels, and the output channels of one group."""
        return self.whole == "I"

    def outputs(self, rank: int) -> int:
        """Axis of the output channels in weights of this rank, from the front."""
        return _axis(self.order, "O", rank)

    def inputs(self, rank: int) -> int:
        """Axis of the input channels in weights of this rank, from the front."""
        return _axis(self.order, "1" if self.depthwise else "I", rank)


def _axis(order: str, letter: str, rank: int) -> int:
    position, others = order.index(letter), order.find("*")
    return position if others < 0 or position < others else rank - len(order) + position


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


class Stated(NamedTuple):
    """Where a node states a number, or several."""

    attribute: str = ""
    """Attribute; empty where the format has none for it."""
    input: int = -1
    """Input, which counts where the node has it; -1 where the format has none for it."""
    default: int | None = None
    """What counts where a node states none; None for what ONNX says."""


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
    """Quantized values with their scales and zero-points; those of the result too, where it has any."""
    sizes: tuple[int, ...] = ()
    """Inputs that hold sizes whose meaning the tie function tells itself."""
    channels_last: bool = False
    """Whether images have their channels last."""
    numbers: Mapping[str, Stated] = {}
    """Where numbers stand that are not in an attribute of this name."""
    recurrent: tuple[int, ...] = ()
    """Matrices that every step of a sequence multiplies by."""

    def channels(self, rank: int) -> int:
        """Axis of the channels in an image of this rank."""
        return rank - 1 if self.channels_last else 1

    def plane(self, rank: int) -> list[int]:
        """Axes of an image of this rank but its batch and channels."""
        return [axis for axis in range(1, rank) if axis != self.channels(rank)]

    def number(self, node: Node, name: str, default: int = 0) -> int:
        """A number that a node states in an attribute; `default` is what counts in ONNX where it does not."""
        where = self.stated(name)
        return node.int(where.attribute, default if where.default is None else where.default)

    def stated(self, name: str) -> Stated:
        """Where a node states a number, or several."""
        return self.numbers.get(name) or Stated(name)

    def numbers_of(
        self, node: Node, name: str, ints: Callable[[int], Sequence[int] | None], default: Sequence[int] | None
    ) -> tuple[int, ...] | None:
        """Numbers that a node states under a name; None where they are not known. `ints` reads an input.

        `default` is what counts where it states none, unless the format states them in an input alone.
        """
        where = self.stated(name)
        if node.has(where.input) or (where.input >= 0 and not where.attribute):
            numbers = ints(where.input)
        elif where.attribute in node.attributes:
            number = node.attributes[where.attribute]
            numbers = (number,) if isinstance(number, int) else node.ints(where.attribute)
        else:
            numbers = default if where.default is None else (where.default,)
        return None if numbers is None else tuple(numbers)

    def data_of(self, node: Node) -> Iterator[int]:
        """Data inputs that a node has."""
        positions = (
            [*self.data, *range(self.data[-1] + self.step, len(node.inputs), self.step)] if self.step else self.data
        )
        return filter(node.has, positions)

    def quantized_of(self, inputs: int) -> tuple[Quantized, ...]:
        """Quantized values of a node with this many inputs: those of the record and of further operands."""
        if not self.step or not self.quantized:
            return self.quantized
        first = next(triple for triple in self.quantized if triple.value == self.data[-1])
        further = range(self.step, inputs - first.value, self.step)
        return (*self.quantized, *(Quantized(*(position + offset for position in first)) for offset in further))

    def parameters(self, position: int) -> list[int]:
        """Inputs with the scale and zero-point of an input; none where it has none in the record."""
        return [number for triple in self.quantized if triple.value == position for number in triple[1:]]

    @property
    def result(self) -> Quantized:
        """Scale and zero-point of the first output; -1 where the operator takes none."""
        return next((triple for triple in self.quantized if triple.value < 0), Quantized(-1, -1, -1))

    def holds_parameters(self, position: int, inputs: int) -> bool:
        """Tell whether an input of a node with this many inputs holds scales or zero-points."""
        return any(position in (value.scale, value.zero_point) for value in self.quantized_of(inputs))

    def zero_point_of(self, position: int, inputs: int) -> int | None:
        """Input with the zero-point of an input's quantized values; None where it holds none."""
        return next((value.zero_point for value in self.quantized_of(inputs) if value.value == position), None)

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
    def first(self) -> int:
        """Its usual data input."""
        return self.data[0] if self.data else 0

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
