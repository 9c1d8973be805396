"""The numbers of each kind of call: as ExecuTorch's kernels hand them to CMSIS-NN (backends/cortex_m/ops/*.cpp)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from firmware_check.program import Array, Elements
from firmware_check.quantized_constants import ADD_LEFT_SHIFT, AddConstants, SoftmaxConstants
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.formats.pte.program_records import PteTensor
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.fixed_point import Multiplier
from onnxlint_cmsis.runtimes.executorch.calls import is_channel_broadcast
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.pte.calls import ProgramCall
    from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram


class LayerCall(NamedTuple):
    """One call of a program on its way to a layer."""

    loaded: LoadedProgram
    """The file."""
    program_call: ProgramCall
    """The call with its arguments by name."""
    kernel_call: KernelCall
    """The call of CMSIS-NN that it makes."""

    def constant(self, name: str) -> Elements | None:
        """Values of a constant argument, as they lie in memory; None where it is left out."""
        tensor = self.program_call.tensor(name)
        return None if tensor is None else _values(self.loaded, tensor, f"its {name}")

    def channels(self, name: str) -> Elements | None:
        """Values of a constant argument, one for each output channel."""
        values, count = self.constant(name), self.kernel_call.output_dims.c or 0
        if values is not None and values.size != count:
            raise Unsupported(f"its {name} has {values.size} numbers for {count} output channels")
        return values

    def multiplier(self, value: str, shift: str) -> Multiplier:
        """A multiplier of two arguments."""
        return Multiplier(self.program_call.number_of(value), _short(self.program_call.number_of(shift)))

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest integer of the output."""
        return self.program_call.number_of("activation_min", INT8[0]), self.program_call.number_of(
            "activation_max", INT8[1]
        )


def _values(loaded: LoadedProgram, tensor: PteTensor, what: str) -> Elements:
    if tensor.data is None:
        raise Unsupported(f"{what} is computed, or lies in another file")
    if np.dtype(tensor.elem_type).kind not in "iu":
        raise Unsupported(f"{what} is {tensor.elem_type}; whole numbers are read")
    return np.frombuffer(loaded.program.bytes_of(tensor), np.dtype(tensor.elem_type)).reshape(-1)


def _short(shift: int) -> int:
    if abs(shift) > LONGEST_SHIFT:
        raise Unsupported(f"it shifts by {shift} bits; a register has 32")
    return shift


class LayerNumbers(NamedTuple):
    """What a layer of the firmware needs beside its call."""

    numbers: Mapping[str, object]
    """Numbers of the template's macro."""
    offsets: tuple[int, ...]
    """What is added to each input."""
    result: int = 0
    """Zero-point of the output."""
    arrays: tuple[Array, ...] = ()
    """Weights and the like."""


def whole_numbers(read: LayerNumbers) -> Iterator[int]:
    """Every whole number that a layer is given."""
    for value in (*read.numbers.values(), read.offsets, read.result):
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if type(part) is int)


def weighted_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a convolution or a fully connected layer. Raises Unsupported for constants that do not fit."""
    weights = call.constant("weights" if call.program_call.op == LINEAR else "weight")
    if weights is None:
        raise Unsupported("it has no weights")
    count = prod(size or 0 for size in call.kernel_call.filter_dims)
    if weights.size != count:
        raise Unsupported(f"its weights are {weights.size} numbers where {count} are read")
    if not _fit(call.kernel_call):
        data, filters = (
            list(known_sizes(dims)) for dims in (call.kernel_call.input_dims, call.kernel_call.filter_dims)
        )
        raise Unsupported(f"its input of {data} does not fit its weights of {filters}")
    numbers: dict[str, object] = {
        "limits": call.limits,
        "filter_offset": call.program_call.number_of("filter_offset"),
        "per_channel": False,
    }
    pairs = {name: call.channels(f"requantize_{name}") for name in ("multipliers", "shifts")}
    if call.program_call.op == LINEAR:
        first = [call.program_call.numbers_of(f"requantize_{name}")[:1] for name in pairs]
        if not all(first):
            raise Unsupported("it has no multiplier or shift")
        numbers["output"] = Multiplier(first[0][0], _short(first[1][0]))
    for shift in () if pairs["shifts"] is None else pairs["shifts"].tolist():
        _short(shift)
    constants = (
        ("weights", "int8_t", weights),
        ("bias", "int32_t", call.channels("bias")),
        ("sums", "int32_t", call.channels("kernel_sum")),
        *((name, "int32_t", values) for name, values in pairs.items()),
    )
    arrays = tuple(Array(name, kind, values) for name, kind, values in constants if values is not None)
    return LayerNumbers(
        numbers, (call.program_call.number_of("input_offset"),), call.program_call.number_of("output_offset"), arrays
    )


def _fit(call: KernelCall) -> bool:
    """Tell whether the weights of a convolution have the channels of the input, or of one of its groups."""
    stem, given, read = call.entry.rpartition("_")[0], call.input_dims.c or 0, call.filter_dims.c or 0
    if stem == "transpose_conv":
        return given == read
    groups = given // max(read, 1)
    return stem != "convolve" or (groups > 0 and given == groups * read and (call.filter_dims.n or 0) % groups == 0)


def pool_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a pool."""
    return LayerNumbers({"limits": call.limits}, (0,))


def _operands(call: LayerCall) -> tuple[Mapping[str, object], bool]:
    """The elements of one call of several, where there are several, and whether the operands change places."""
    tensors = call.program_call.tensor("self"), call.program_call.tensor("other"), call.program_call.written
    first, second, result = (cast("PteTensor", tensor) for tensor in tensors)
    sizes = prod(first.sizes), prod(second.sizes)
    if not is_channel_broadcast(first, second):
        return {}, False
    if max(sizes) != prod(result.sizes):
        raise Unsupported(f"it writes {prod(result.sizes)} elements of operands of {sizes[0]} and {sizes[1]}")
    return {"block": first.sizes[1]}, sizes[0] < sizes[1]


def sum_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a sum of two tensors."""
    block, swapped = _operands(call)
    pairs = [(f"{name}_multiplier", f"{name}_shift") for name in ("self", "other", "output")]
    first, second, output = (call.multiplier(*pair) for pair in pairs)
    offsets = -call.program_call.number_of("self_zero_point"), -call.program_call.number_of("other_zero_point")
    if swapped:
        first, second, offsets = second, first, offsets[::-1]
    numbers = {
        **block, "limits": call.limits, "offsets": offsets, "left_shift": ADD_LEFT_SHIFT[8],
        "constants": AddConstants(first, second, output), "swapped": swapped,
    }  # fmt: skip
    return LayerNumbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def product_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a product of two tensors."""
    block, swapped = _operands(call)
    offsets = -call.program_call.number_of("self_zero_point"), -call.program_call.number_of("other_zero_point")
    offsets = offsets[::-1] if swapped else offsets
    output = call.multiplier("output_multiplier", "output_shift")
    numbers = {**block, "limits": INT8, "offsets": offsets, "output": output, "swapped": swapped}
    return LayerNumbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def extreme_numbers(_call: LayerCall) -> LayerNumbers:
    """Numbers of a maximum or minimum of two tensors."""
    return LayerNumbers({"constant": None, "limits": INT8}, (0, 0))


def softmax_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a softmax."""
    constants = SoftmaxConstants(
        call.multiplier("input_multiplier", "input_shift"), call.program_call.number_of("diff_min")
    )
    rows, row = call.kernel_call.input_dims.n, call.kernel_call.input_dims.c
    return LayerNumbers({"limits": INT8, "rows": rows, "row": row, "constants": constants}, (0,), INT8[0])


def transpose_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a transpose. Raises Unsupported for a result of other sizes than its input has in that order."""
    order = call.kernel_call.permutation
    ones = 4 - len(order)
    size, result = (
        (*known_sizes(sizes)[ones:], *(1,) * ones)
        for sizes in (call.kernel_call.input_dims, call.kernel_call.output_dims)
    )
    if tuple(size[axis] for axis in order) != result[: len(order)]:
        raise Unsupported(f"its result has sizes {list(result)}, not those of its input in the order {list(order)}")
    return LayerNumbers({"limits": INT8, "size": size, "result": result}, (0,))


def pad_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a padding. Raises Unsupported for a result of other sizes than its amounts make."""
    size, before, after = (
        known_sizes(call.kernel_call.input_dims),
        *(call.program_call.numbers_of(f"{end}_pad") for end in ("pre", "post")),
    )
    wanted = tuple(map(sum, zip(size, before, after, strict=True)))
    if wanted != known_sizes(call.kernel_call.output_dims) or min(*before, *after) < 0:
        raise Unsupported(
            f"its result has sizes {list(known_sizes(call.kernel_call.output_dims))}; its amounts make {list(wanted)}"
        )
    fill = int(np.array(call.program_call.number_of("pad_value")).astype(np.int8))
    return LayerNumbers({"limits": INT8, "size": size, "before": before, "after": after, "fill": fill}, (0,))


def batch_matmul_numbers(call: LayerCall) -> LayerNumbers:
    """Numbers of a product of matrices."""
    offsets = (
        call.program_call.number_of("lhs_zero_point"),
        call.program_call.number_of("rhs_zero_point"),
    )  # added, as they stand
    output = call.multiplier("output_multiplier", "output_shift")
    numbers = {"limits": INT8, "offsets": offsets, "output": output}
    return LayerNumbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def known_sizes(dims: Dims | Pair) -> tuple[int, ...]:
    """Sizes with 0 for one that is unknown."""
    return tuple(size or 0 for size in dims)


INT8 = (-128, 127)
"""Limits of an output whose operator names none."""


LONGEST_SHIFT = 31
