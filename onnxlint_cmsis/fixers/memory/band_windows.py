"""Which lines of what it reads an operator needs for lines of its result: rows, or columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from onnxlint_cmsis.fixers.memory.segments import COLUMNS, ROWS
from onnxlint_cmsis.formats.tflite.constants import constant
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.windows import padding_for, reach, same_padding

RANK = 4
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
ELEMENTWISE = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "QUANTIZE", "RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH",
               "HARD_SWISH")  # fmt: skip
"""Operators that compute each element from the elements at its place."""
LINES = {ROWS: "rows", COLUMNS: "columns"}
"""What bands of an axis are made of."""
MOST_LINES = 32
"""Lines of the window of a pool in bands."""

Lines = tuple[int, int]
"""The first line and the one behind the last."""


class BandWindow(NamedTuple):
    """How lines of a result depend on lines of an operand."""

    stride: int = 1
    """Lines from one window to the next."""
    span: int = 1
    """Lines from the first that a window reads to the last."""
    before: int = 0
    """Lines of padding in front."""
    across: tuple[int, int] = (0, 0)
    """Padding that the window adds on both sides of each line's ends."""
    leaves_out: int = 0
    """Lines of the whole result of a pool with padding, which it leaves out, as a PAD would not; 0 for others."""
    spreads: bool = False
    """Whether an operand of one line is read for every line of the result."""

    def read(self, lines: Lines, size: int) -> tuple[Lines, Lines]:
        """Lines of an operand with `size` that lines of the result need, and lines of padding in front and behind.

        Raises NotAppliedError for a pool that runs in no such band.
        """
        if self.spreads and size == 1:
            return (0, 1), (0, 0)
        return (self._around(lines, size)[0], (0, 0)) if self.leaves_out else self._reached(lines, size)

    def computed(self, lines: Lines, size: int) -> Lines:
        """Lines that an operator makes where these are wanted: a pool with SAME makes some besides, which are wrong.

        Raises NotAppliedError.
        """
        return self._around(lines, size)[1] if self.leaves_out else lines

    def _reached(self, lines: Lines, size: int) -> tuple[Lines, Lines]:
        first = lines[0] * self.stride - self.before
        end = (lines[1] - 1) * self.stride - self.before + self.span
        return (max(0, first), min(size, end)), (max(0, -first), max(0, end - size))

    def _around(self, lines: Lines, size: int) -> tuple[Lines, Lines]:
        """Lines that a pool with SAME reads to make those that are wanted, at the border of the image or behind others.

        Raises NotAppliedError.
        """
        (first, end), _ = self._reached(lines, size)
        sides = range(1 + -(-self.span // self.stride))
        for low, high in sorted(product(sides, repeat=2), key=sum):
            computed = max(0, lines[0] - low), min(self.leaves_out, lines[1] + high)
            begin, count = computed[0] * self.stride - self.before, computed[1] - computed[0]
            for start in range(max(0, begin), min(first, begin + self.span) + 1):
                for padding in (2 * (start - begin), 2 * (start - begin) + 1):  # SAME puts the odd line behind
                    stop = start + (count - 1) * self.stride + self.span - padding
                    if end <= stop <= size and self.same(stop - start, count, start - begin):
                        return (start, stop), computed
        raise NotAppliedError("no band of a pool has the padding of the whole")

    def same(self, size: int, count: int, before: int) -> bool:
        """Tell whether SAME pads `size` lines with `before` in front, and gives `count`."""
        return -(-size // self.stride) == count and same_padding(size, self.span, self.stride)[0] == before


def band_window(model: TfliteModel, main: Subgraph, operator: TfliteOperator, axis: int) -> BandWindow:
    """The window of an operator along rows or columns. Raises NotAppliedError with why it has no bands, as a clause."""
    if operator.op in CONVOLUTIONS:
        if not all(model.is_constant(main.tensors[number]) for number in operator.inputs[1:] if number >= 0):
            raise NotAppliedError("its weights are computed")
        dilations = [operator.options.get(f"dilation_{side}_factor", 1) for side in "hw"]
        return _sliding(main, operator, axis, (main.tensors[operator.inputs[1]].shape[1:3], dilations))
    if operator.op in POOLS:
        kernel = [operator.options.get(f"filter_{side}", 0) for side in ("height", "width")]
        window = _sliding(main, operator, axis, (kernel, (1, 1)))
        if window.span > MOST_LINES:
            raise NotAppliedError(f"its window has {window.span} {LINES[axis]}, and {MOST_LINES} at most are cut")
        size, reached = (main.tensors[numbers[0]].shape[axis] for numbers in (operator.inputs, operator.outputs))
        padded = any(window.across) or window.read((0, reached), size)[1] != (0, 0)
        return window._replace(leaves_out=reached if padded else 0)
    if operator.op == "PAD":
        amounts = pad_amounts(model, main, operator)
        if not amounts:
            raise NotAppliedError("what it adds is computed")
        return BandWindow(before=amounts[2 * axis])
    if operator.op not in ELEMENTWISE and not _joins_within(operator, axis):
        raise NotAppliedError(f"its {LINES[axis]} do not come from {LINES[axis]} at the same place")
    for number in filter(lambda number: number >= 0, operator.inputs):
        _check_lines(model, main.tensors[number], axis, main.tensors[operator.outputs[0]].shape[axis])
    return BandWindow(spreads=operator.op in ELEMENTWISE)


def _joins_within(operator: TfliteOperator, axis: int) -> bool:
    """Tell whether a CONCATENATION joins what lies in the same line."""
    along = operator.options.get("axis")
    return operator.op == "CONCATENATION" and isinstance(along, int) and along % RANK not in (0, axis)


def constant_lines(tensor: TfliteTensor, axis: int) -> int:
    """Lines of a constant that is read element by element beside a map; 1 where it is the same in each of them."""
    return tensor.shape[axis - RANK] if len(tensor.shape) >= RANK - axis else 1


def _check_lines(model: TfliteModel, tensor: TfliteTensor, axis: int, size: int) -> None:
    """Raise NotAppliedError for an operand whose lines are not those of a result with so many."""
    lines, stored = constant_lines(tensor, axis), tensor.quantization
    if lines not in (1, size) or len(tensor.shape) > RANK:
        raise NotAppliedError(f"its {LINES[axis]} do not come from {LINES[axis]} at the same place")
    several = stored is not None and len(stored.scales) > 1
    if lines > 1 and model.is_constant(tensor) and (tensor.encoding or tensor.elem_type == "INT4" or several):
        raise NotAppliedError(f"it reads a constant with {LINES[axis]} that is stored in a form that is not cut")


def pad_amounts(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> tuple[int, ...]:
    """What a PAD adds before and behind each axis: eight numbers; none where they are not known."""
    amounts = main.tensors[operator.inputs[1]] if len(operator.inputs) == 2 else None
    if amounts is None or amounts.shape != (RANK, 2) or not model.is_constant(amounts):
        return ()
    return constant(model, amounts, "").integers() or ()


def _sliding(
    main: Subgraph, operator: TfliteOperator, axis: int, reaches: tuple[Sequence[object], Sequence[object]]
) -> BandWindow:
    """The window of a kernel of these sizes and dilations, of rows and columns. Raises NotAppliedError."""
    data, result = (main.tensors[numbers[0]].shape for numbers in (operator.inputs, operator.outputs))
    strides = [operator.options.get(f"stride_{side}", 0) for side in "hw"]
    numbers = [number for row in (*reaches, strides) for number in row if isinstance(number, int) and number > 0]
    if len(numbers) != 6 or prod(data) * prod(result) == 0:
        raise NotAppliedError("its window is not known")
    spans = [reach(numbers[side], numbers[2 + side]) for side in range(2)]
    pads = [(0, 0), (0, 0)]
    if operator.options.get("padding") == "SAME":
        pads = [same_padding(data[1 + side], spans[side], numbers[4 + side]) for side in range(2)]
    along, other = axis - 1, 2 - axis
    if padding_for(result[1 + other], data[1 + other], spans[other], numbers[4 + other]) > sum(pads[other]):
        raise NotAppliedError("its window reaches beyond its map")
    return BandWindow(numbers[4 + along], spans[along], pads[along][0], pads[other])
