"""A segment in bands of rows or columns: each takes the lines that it needs, halo and all; a CONCATENATION joins them.

GATHER takes whole rows, one copy each, or columns pixel by pixel; SLICE takes those of int16, element by element.
Padding is a PAD with the zero-point in front of a layer without, as a band inside the image has none at its sides.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from onnxlint_cmsis.fixers.edits.tflite_constants import stored_elements
from onnxlint_cmsis.fixers.memory.band_windows import (
    CONVOLUTIONS,
    LINES,
    POOLS,
    RANK,
    Lines,
    band_window,
    constant_lines,
    pad_amounts,
)
from onnxlint_cmsis.fixers.memory.channel_tiles import JOIN, JOIN_VERSION
from onnxlint_cmsis.fixers.memory.segments import ROWS, Segment
from onnxlint_cmsis.formats.flatbuffer import Value
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.formats.tflite.new_operators import NewOperator
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple

VERSIONS = {"INT8": {"GATHER": 2, "PAD": 2}, "FLOAT32": {"GATHER": 1, "PAD": 1}, "INT16": {"SLICE": 4, "PAD": 3}}
"""Versions of operators that read a type (lite/tools/versioning/op_version.cc); TensorFlow Lite Micro's GATHER takes no
int16 (kernels/gather.cc, GatherPrepare)."""


class BandCopy(NamedTuple):
    """An operator of the file as it computes a band."""

    origin: int
    """Its number in the file."""
    first: bool
    """Whether it is the first band, which the operator of the file computes itself."""
    inputs: tuple[int, ...]
    """Tensors read."""
    output: int
    """Tensor written."""
    options: Mapping[str, Value]
    """Options that differ from those in the file."""


class BandAddition(NamedTuple):
    """An operator that the file does not have yet."""

    origin: int
    """Number of the operator of the file that it serves."""
    behind: int
    """Number of the operator of the file that it stands behind; -1 in front of all."""
    operator: NewOperator
    """The operator."""


class Bands(NamedTuple):
    """What becomes of a segment."""

    operators: tuple[BandCopy | BandAddition, ...]
    """In the order they run."""
    tensors: tuple[NewTensor, ...]
    """New tensors, numbered from the first that the file does not have yet."""
    sizes: dict[int, tuple[int, ...]]
    """New sizes of tensors of the file."""
    values: dict[int, bytes]
    """New values of constants of the file."""


def in_bands(model: TfliteModel, segment: Segment, ends: tuple[int, ...], next_tensor: int) -> Bands:
    """A segment in bands that end in these lines of its result. Raises NotAppliedError."""
    return _Banded(model, segment, next_tensor).bands(ends)


class _Banded:
    """One segment on the way to bands."""

    def __init__(self, model: TfliteModel, segment: Segment, next_tensor: int) -> None:
        self._model, self._main = model, model.subgraphs[0]
        self._layers, self._axis, self._next = segment.operators, segment.axis, next_tensor
        operators = self._main.operators
        self._windows = {
            number: band_window(model, self._main, operators[number], segment.axis) for number in self._layers
        }
        self._operators: list[BandCopy | BandAddition] = []
        self._tensors: list[NewTensor] = []
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._values: dict[int, bytes] = {}
        self._readers = Counter((*chain(*(operator.inputs for operator in operators)), *self._main.outputs))
        self._have: dict[int, tuple[int, Lines]] = {}
        """Tensors that hold lines of a tensor of the file, and which, in the band that is being made."""

    def bands(self, ends: tuple[int, ...]) -> Bands:
        """All bands and what joins them."""
        last = self._main.operators[self._layers[-1]]
        results = []
        for number, lines in enumerate(zip((0, *ends), ends, strict=False)):
            wanted = self._wanted(lines)
            self._have = {}
            for index in self._layers:
                self._run(number, index, wanted)
            results.append(self._have[last.outputs[0]][0])
        kind = self._main.tensors[last.outputs[0]].elem_type
        options = {"axis": self._axis}
        join = NewOperator(JOIN, JOIN_VERSION[kind], tuple(results), last.outputs, "ConcatenationOptions", options)
        self._operators.append(BandAddition(self._layers[-1], self._layers[-1], join))
        return Bands(tuple(self._operators), tuple(self._tensors), self._sizes, self._values)

    def _wanted(self, lines: Lines) -> dict[int, Lines]:
        """Lines of every result in the segment that one band needs."""
        wanted = {self._main.operators[self._layers[-1]].outputs[0]: lines}
        for index in reversed(self._layers):
            operator = self._main.operators[index]
            for tensor in self._read(operator):
                needed, _ = self._windows[index].read(wanted[operator.outputs[0]], self._size(tensor))
                if needed[0] >= needed[1]:
                    raise NotAppliedError("a band would lie in the padding alone")
                known = wanted.get(tensor, needed)
                wanted[tensor] = min(needed[0], known[0]), max(needed[1], known[1])
        return wanted

    def _read(self, operator: TfliteOperator) -> list[int]:
        """Tensors that an operator reads and that are computed."""
        return [n for n in operator.inputs if n >= 0 and not self._model.is_constant(self._main.tensors[n])]

    def _run(self, band: int, index: int, wanted: dict[int, Lines]) -> None:
        """One operator in one band."""
        operator, window = self._main.operators[index], self._windows[index]
        behind = index - 1 if band == 0 else self._layers[-1]
        (whole,) = operator.outputs
        lines, inputs, options = wanted[whole], list(operator.inputs), dict[str, "Value"]()
        for position, tensor in enumerate(operator.inputs):
            if tensor not in self._read(operator):
                if operator.op not in (*CONVOLUTIONS, "PAD") and tensor >= 0:
                    inputs[position] = self._beside(tensor, lines, band)
                continue
            needed, padding = window.read(lines, self._size(tensor))
            inputs[position] = self._lines(index, behind, tensor, needed)
            if operator.op == "PAD":
                amounts = [*pad_amounts(self._model, self._main, operator)]
                amounts[2 * self._axis : 2 * self._axis + 2] = padding
                inputs[1] = self._amounts(amounts)
            elif "padding" in operator.options and not window.leaves_out:
                count = needed[1] - needed[0]
                stays = operator.options["padding"] == "SAME" and window.same(count, lines[1] - lines[0], padding[0])
                if operator.op in POOLS or not stays:
                    options["padding"] = "VALID"
                    inputs[position] = self._padded(index, behind, inputs[position], padding, window.across)
        result = self._result(whole, lines, band, last=index == self._layers[-1])
        self._have[whole] = result, lines
        computed = window.computed(lines, self._size(self._read(operator)[0]))
        written = result if computed == lines else self._more_lines(whole, computed, "around")
        self._operators.append(BandCopy(index, band == 0, tuple(inputs), written, options))
        if written != result:
            self._cut((index, max(index, behind)), (whole, written, computed[0]), lines, result)

    def _beside(self, tensor: int, lines: Lines, band: int) -> int:
        """The constant with what an operator reads beside lines of its result: that of the file in the first band."""
        whole = self._main.tensors[tensor]
        if constant_lines(whole, self._axis) == 1:
            return tensor
        stored, axis = stored_elements(self._model, whole), self._axis - RANK
        codes = np.take(stored.codes, range(*lines), axis=axis)
        shape, raw = codes.shape, element_codes.packed(codes, BITS[stored.elem_type])
        if band == 0 and self._readers[tensor] == 1:
            self._sizes[tensor], self._values[tensor] = shape, raw
            return tensor
        return self._constant(NewTensor("", whole.elem_type, shape, raw, whole.quantization))

    def _result(self, whole: int, lines: Lines, band: int, *, last: bool) -> int:
        """The tensor with lines of a result: that of the file in the first band, so that none is left unused."""
        if band == 0 and not last:
            self._sizes[whole] = self._with_lines(whole, lines)
            return whole
        return self._more_lines(whole, lines, f"band{band + 1}")

    def _lines(self, index: int, behind: int, tensor: int, lines: Lines) -> int:
        """The tensor with lines of a tensor of the file, which are cut out where there are more."""
        source, have = self._have.get(tensor, (tensor, (0, self._size(tensor))))
        if have == lines:
            return source
        result = self._more_lines(tensor, lines, LINES[self._axis])
        self._cut((index, behind), (tensor, source, have[0]), lines, result)
        return result

    def _cut(self, where: tuple[int, int], source: tuple[int, int, int], lines: Lines, result: int) -> None:
        """Add what takes lines of a tensor of the file; `where` has the operator served and the one in front.

        `source` has that tensor, the one with lines of it, and the first of these.
        """
        whole, held, start = source
        versions, taken = VERSIONS[self._main.tensors[whole].elem_type], range(lines[0] - start, lines[1] - start)
        if "GATHER" in versions:
            inputs = (held, self._numbers(taken))
            cut = NewOperator("GATHER", versions["GATHER"], inputs, (result,), "GatherOptions", {"axis": self._axis})
        else:
            begin = [taken.start if axis == self._axis else 0 for axis in range(RANK)]
            limits = self._numbers(begin), self._numbers(self._with_lines(whole, lines))
            cut = NewOperator("SLICE", versions["SLICE"], (held, *limits), (result,), "SliceOptions", {})
        self._operators.append(BandAddition(*where, cut))

    def _padded(self, index: int, behind: int, source: int, along: Lines, across: Lines) -> int:
        """A map with the zero-point around it: along the band, and across."""
        if not any((*along, *across)):
            return source
        whole = self._main.tensors[self._main.operators[index].inputs[0]]
        amounts = (0, 0), *((along, across) if self._axis == ROWS else (across, along)), (0, 0)
        shape = tuple(size + sum(pair) for size, pair in zip(self._shape(source), amounts, strict=True))
        inputs, result = (source, self._amounts([*chain(*amounts)])), self._add(whole, shape, "padded")
        pad = NewOperator("PAD", VERSIONS[whole.elem_type]["PAD"], inputs, (result,), "PadOptions", {})
        self._operators.append(BandAddition(index, behind, pad))
        return result

    def _size(self, tensor: int) -> int:
        """Lines of a tensor of the file."""
        return self._main.tensors[tensor].shape[self._axis]

    def _with_lines(self, tensor: int, lines: Lines) -> tuple[int, ...]:
        """Sizes of a map that has these lines of a tensor of the file alone."""
        shape = self._main.tensors[tensor].shape
        return *shape[: self._axis], lines[1] - lines[0], *shape[self._axis + 1 :]

    def _shape(self, number: int) -> tuple[int, ...]:
        """Sizes of a tensor as they are by now."""
        if number >= self._next:
            return self._tensors[number - self._next].shape
        return self._sizes.get(number, self._main.tensors[number].shape)

    def _numbers(self, numbers: Sequence[int]) -> int:
        return self._constant(NewTensor("", "INT32", (len(numbers),), struct.pack(f"<{len(numbers)}i", *numbers)))

    def _amounts(self, amounts: Sequence[int]) -> int:
        return self._constant(NewTensor("", "INT32", (4, 2), struct.pack("<8i", *amounts)))

    def _constant(self, new: NewTensor) -> int:
        """The number of a constant, which bands share."""
        alike = (at for at, known in enumerate(self._tensors) if known._replace(name="") == new)
        at = next(alike, len(self._tensors))
        if at == len(self._tensors):
            self._tensors.append(new._replace(name=f"band_constant{self._next + at}"))
        return self._next + at

    def _more_lines(self, whole: int, lines: Lines, what: str) -> int:
        """A new tensor for lines of a tensor of the file."""
        return self._add(self._main.tensors[whole], self._with_lines(whole, lines), what)

    def _add(self, like: TfliteTensor, shape: tuple[int, ...], what: str) -> int:
        name = f"{like.name}_{what}_{self._next + len(self._tensors)}"
        self._tensors.append(NewTensor(name, like.elem_type, shape, b"", like.quantization))
        return self._next + len(self._tensors) - 1
