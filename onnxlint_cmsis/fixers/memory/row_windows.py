"""Which rows of what it reads an operator needs for rows of its result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

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
MOST_ROWS = 32
"""Rows of the window of a pool in bands."""

Rows = tuple[int, int]
"""The first row and the one behind the last."""


class RowWindow(NamedTuple):
    """How rows of a result depend on rows of an operand."""

    stride: int = 1
    """Rows from one window to the next."""
    span: int = 1
    """Rows from the first that a window reads to the last."""
    before: int = 0
    """Rows of padding above."""
    columns: tuple[int, int] = (0, 0)
    """Columns of padding that the window adds on both sides."""
    leaves_out: int = 0
    """Rows of the whole result of a pool with padding, which it leaves out, as a PAD would not; 0 for others."""
    spreads: bool = False
    """Whether an operand of one row is read for every row of the result."""

    def read(self, rows: Rows, size: int) -> tuple[Rows, Rows]:
        """Rows of an operand with `size` rows that rows of the result need, and rows of padding above and below.

        Raises NotAppliedError for a pool that runs in no such band.
        """
        if self.spreads and size == 1:
            return (0, 1), (0, 0)
        return (self._around(rows, size)[0], (0, 0)) if self.leaves_out else self._reached(rows, size)

    def computed(self, rows: Rows, size: int) -> Rows:
        """Rows that an operator makes where these are wanted: a pool with SAME makes some besides, which are not right.

        Raises NotAppliedError.
        """
        return self._around(rows, size)[1] if self.leaves_out else rows

    def _reached(self, rows: Rows, size: int) -> tuple[Rows, Rows]:
        first = rows[0] * self.stride - self.before
        end = (rows[1] - 1) * self.stride - self.before + self.span
        return (max(0, first), min(size, end)), (max(0, -first), max(0, end - size))

    def _around(self, rows: Rows, size: int) -> tuple[Rows, Rows]:
        """Rows that a pool with SAME reads to make those that are wanted, at the border of the image or behind others.

        Raises NotAppliedError.
        """
        (first, end), _ = self._reached(rows, size)
        sides = range(1 + -(-self.span // self.stride))
        for low, high in sorted(product(sides, repeat=2), key=sum):
            computed = max(0, rows[0] - low), min(self.leaves_out, rows[1] + high)
            begin, count = computed[0] * self.stride - self.before, computed[1] - computed[0]
            for start in range(max(0, begin), min(first, begin + self.span) + 1):
                for padding in (2 * (start - begin), 2 * (start - begin) + 1):  # SAME puts the odd row below
                    stop = start + (count - 1) * self.stride + self.span - padding
                    if end <= stop <= size and self.same(stop - start, count, start - begin):
                        return (start, stop), computed
        raise NotAppliedError("no band of a pool has the padding of the whole")

    def same(self, size: int, count: int, above: int) -> bool:
        """Tell whether SAME pads `size` rows with as many above, and gives as many rows."""
        return -(-size // self.stride) == count and same_padding(size, self.span, self.stride)[0] == above


def row_window(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> RowWindow:
    """The window of an operator along rows. Raises NotAppliedError with why it does not run in bands, as a clause."""
    if operator.op in CONVOLUTIONS:
        if not all(model.is_constant(main.tensors[number]) for number in operator.inputs[1:] if number >= 0):
            raise NotAppliedError("its weights are computed")
        kernel = main.tensors[operator.inputs[1]].shape[1:3]
        dilations = [operator.options.get(f"dilation_{axis}_factor", 1) for axis in "hw"]
        return _sliding(main, operator, kernel, dilations)
    if operator.op in POOLS:
        window = _sliding(main, operator, [operator.options.get(f"filter_{side}", 0) for side in ("height", "width")])
        if window.span > MOST_ROWS:
            raise NotAppliedError(f"its window has {window.span} rows, and {MOST_ROWS} at most are cut")
        size, reached = (main.tensors[numbers[0]].shape[1] for numbers in (operator.inputs, operator.outputs))
        padded = any(window.columns) or window.read((0, reached), size)[1] != (0, 0)
        return window._replace(leaves_out=reached if padded else 0)
    if operator.op == "PAD":
        amounts = pad_amounts(model, main, operator)
        if not amounts:
            raise NotAppliedError("what it adds is computed")
        return RowWindow(before=amounts[2])
    if operator.op not in ELEMENTWISE and not _joins_in_rows(operator):
        raise NotAppliedError("its rows do not come from rows at the same height")
    for number in filter(lambda number: number >= 0, operator.inputs):
        _check_rows(model, main.tensors[number], main.tensors[operator.outputs[0]].shape[1])
    return RowWindow(spreads=operator.op in ELEMENTWISE)


def _joins_in_rows(operator: TfliteOperator) -> bool:
    """Tell whether an operator joins what lies at the same height: columns or channels."""
    return operator.op == "CONCATENATION" and operator.options.get("axis") in (2, 3, -1, -2)


def constant_rows(tensor: TfliteTensor) -> int:
    """Rows of a constant that is read element by element beside a map; 1 where it is the same at each height."""
    return tensor.shape[-3] if len(tensor.shape) >= RANK - 1 else 1


def _check_rows(model: TfliteModel, tensor: TfliteTensor, height: int) -> None:
    """Raise NotAppliedError for an operand whose rows are not those of a result with so many."""
    rows, stored = constant_rows(tensor), tensor.quantization
    if rows not in (1, height) or len(tensor.shape) > RANK:
        raise NotAppliedError("its rows do not come from rows at the same height")
    several = stored is not None and len(stored.scales) > 1
    if rows > 1 and model.is_constant(tensor) and (tensor.encoding or tensor.elem_type == "INT4" or several):
        raise NotAppliedError("it reads a constant with rows that is stored in a form that is not cut")


def pad_amounts(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> tuple[int, ...]:
    """What a PAD adds before and behind each axis: eight numbers; none where they are not known."""
    amounts = main.tensors[operator.inputs[1]] if len(operator.inputs) == 2 else None
    if amounts is None or amounts.shape != (RANK, 2) or not model.is_constant(amounts):
        return ()
    values = constant(model, amounts, "").values() or ()
    return tuple(int(value) for value in values)


def _sliding(
    main: Subgraph, operator: TfliteOperator, kernel: Sequence[object], dilations: Sequence[object] = (1, 1)
) -> RowWindow:
    """The window of these kernel sizes. Raises NotAppliedError."""
    data, result = (main.tensors[numbers[0]].shape for numbers in (operator.inputs, operator.outputs))
    strides = [operator.options.get(f"stride_{axis}", 0) for axis in "hw"]
    numbers = [number for number in (*kernel, *dilations, *strides) if isinstance(number, int) and number > 0]
    if len(numbers) != 6 or prod(data) * prod(result) == 0:
        raise NotAppliedError("its window is not known")
    spans = [reach(numbers[axis], numbers[2 + axis]) for axis in range(2)]
    before, columns = 0, (0, 0)
    if operator.options.get("padding") == "SAME":
        before = same_padding(data[1], spans[0], numbers[4])[0]
        columns = same_padding(data[2], spans[1], numbers[5])
    elif padding_for(result[2], data[2], spans[1], numbers[5]) > 0:
        raise NotAppliedError("it reads behind the last column")
    return RowWindow(numbers[4], spans[0], before, columns)
