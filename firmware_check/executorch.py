"""A `.pte` program as firmware: its calls of CMSIS-NN with the buffers that the file plans, and what they compute.

Every number of a call stands in the file, so the reference is the kernel's arithmetic in integers, bit for bit. A
`.bpte` file has inputs and expected outputs as well: layers then run on what its inputs make of them, and what the
program makes of them is held against what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.evidence.call_runs import EXTREMES, work
from firmware_check.evidence.exact_arithmetic import CallNumbers, computed, summed
from firmware_check.program import (
    ADD_LEFT_SHIFT,
    AddConstants,
    Array,
    FilePlan,
    Program,
    Quantization,
    SoftmaxConstants,
    Step,
    Value,
)
from firmware_check.reading.forms import Unsupported, refuse_out_of_range
from firmware_check.reference import softmax_output
from firmware_check.verdict import compare, compare_floats
from onnxlint_cmsis.formats.pte.names import BACKEND
from onnxlint_cmsis.formats.pte.program import BundledTensor, PteTensor
from onnxlint_cmsis.ground.types import Dims, Isa, Target
from onnxlint_cmsis.model.fixed_point import Multiplier, requantize
from onnxlint_cmsis.runtimes.executorch.calls import is_channel_broadcast
from onnxlint_cmsis.runtimes.executorch.interpret import Interpretation
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR
from onnxlint_cmsis.runtimes.executorch.plan import handed_over
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.program import Elements
    from firmware_check.reference import Arrays
    from onnxlint_cmsis.formats.pte.program import BundledCase, Method
    from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram, ProgramCall
    from onnxlint_cmsis.ground.types import KernelCall, Pair


INT8 = (-128, 127)
"""Limits of an output whose operator names none."""
SUMS_HOLD_BIAS = "7.0.0"
"""First release whose kernel sums hold the bias."""
MOST = 1 << 25
"""Elements of a call, or of all its windows, that are computed on the host at most: no board holds more."""
LONGEST_SHIFT = 31


# The numbers of each kind of call: as ExecuTorch's kernels hand them to CMSIS-NN (backends/cortex_m/ops/*.cpp).


class _Call(NamedTuple):
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


class _Numbers(NamedTuple):
    """What a layer of the firmware needs beside its call."""

    numbers: Mapping[str, object]
    """Numbers of the template's macro."""
    offsets: tuple[int, ...]
    """What is added to each input."""
    result: int = 0
    """Zero-point of the output."""
    arrays: tuple[Array, ...] = ()
    """Weights and the like."""


def _integers(read: _Numbers) -> Iterator[int]:
    """Every whole number that a layer is given."""
    for value in (*read.numbers.values(), read.offsets, read.result):
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if type(part) is int)


def _weighted(call: _Call) -> _Numbers:
    weights = call.constant("weights" if call.program_call.op == LINEAR else "weight")
    if weights is None:
        raise Unsupported("it has no weights")
    count = prod(size or 0 for size in call.kernel_call.filter_dims)
    if weights.size != count:
        raise Unsupported(f"its weights are {weights.size} numbers where {count} are read")
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
    return _Numbers(
        numbers, (call.program_call.number_of("input_offset"),), call.program_call.number_of("output_offset"), arrays
    )


def _pool(call: _Call) -> _Numbers:
    return _Numbers({"limits": call.limits}, (0,))


def _operands(call: _Call) -> tuple[Mapping[str, object], bool]:
    """The elements of one call of several, where there are several, and whether the operands change places."""
    tensors = call.program_call.tensor("self"), call.program_call.tensor("other"), call.program_call.written
    first, second, result = (cast("PteTensor", tensor) for tensor in tensors)
    sizes = prod(first.sizes), prod(second.sizes)
    if not is_channel_broadcast(first, second):
        return {}, False
    if max(sizes) != prod(result.sizes):
        raise Unsupported(f"it writes {prod(result.sizes)} elements of operands of {sizes[0]} and {sizes[1]}")
    return {"block": first.sizes[1]}, sizes[0] < sizes[1]


def _add(call: _Call) -> _Numbers:
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
    return _Numbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def _mul(call: _Call) -> _Numbers:
    block, swapped = _operands(call)
    offsets = -call.program_call.number_of("self_zero_point"), -call.program_call.number_of("other_zero_point")
    offsets = offsets[::-1] if swapped else offsets
    output = call.multiplier("output_multiplier", "output_shift")
    numbers = {**block, "limits": INT8, "offsets": offsets, "output": output, "swapped": swapped}
    return _Numbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def _extreme(_call: _Call) -> _Numbers:
    return _Numbers({"constant": None, "limits": INT8}, (0, 0))


def _softmax(call: _Call) -> _Numbers:
    constants = SoftmaxConstants(
        call.multiplier("input_multiplier", "input_shift"), call.program_call.number_of("diff_min")
    )
    rows, row = call.kernel_call.input_dims.n, call.kernel_call.input_dims.c
    return _Numbers({"limits": INT8, "rows": rows, "row": row, "constants": constants}, (0,), INT8[0])


def _transpose(call: _Call) -> _Numbers:
    order = call.kernel_call.permutation
    ones = 4 - len(order)
    size, result = (
        (*_sizes(sizes)[ones:], *(1,) * ones) for sizes in (call.kernel_call.input_dims, call.kernel_call.output_dims)
    )
    if tuple(size[axis] for axis in order) != result[: len(order)]:
        raise Unsupported(f"its result has sizes {list(result)}, not those of its input in the order {list(order)}")
    return _Numbers({"limits": INT8, "size": size, "result": result}, (0,))


def _pad(call: _Call) -> _Numbers:
    size, before, after = (
        _sizes(call.kernel_call.input_dims),
        *(call.program_call.numbers_of(f"{end}_pad") for end in ("pre", "post")),
    )
    wanted = tuple(map(sum, zip(size, before, after, strict=True)))
    if wanted != _sizes(call.kernel_call.output_dims) or min(*before, *after) < 0:
        raise Unsupported(
            f"its result has sizes {list(_sizes(call.kernel_call.output_dims))}; its amounts make {list(wanted)}"
        )
    fill = int(np.array(call.program_call.number_of("pad_value")).astype(np.int8))
    return _Numbers({"limits": INT8, "size": size, "before": before, "after": after, "fill": fill}, (0,))


def _batch_matmul(call: _Call) -> _Numbers:
    offsets = (
        call.program_call.number_of("lhs_zero_point"),
        call.program_call.number_of("rhs_zero_point"),
    )  # added, as they stand
    output = call.multiplier("output_multiplier", "output_shift")
    numbers = {"limits": INT8, "offsets": offsets, "output": output}
    return _Numbers(numbers, offsets, call.program_call.number_of("output_zero_point"))


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(size or 0 for size in dims)


# What each kind of call computes.


def _rescaled(step: Step, sums: Elements) -> Elements:
    """Sums times their multiplier, or that of their channel, with offset and limits."""
    arrays = {array.name: array.values.tolist() for array in step.arrays}
    if "output" in step.numbers:
        return _limited(step, requantize(sums, cast(Multiplier, step.numbers["output"])))
    pairs = zip(arrays["multipliers"], arrays["shifts"], strict=True)
    scaled = [requantize(sums[..., channel], Multiplier(*pair)) for channel, pair in enumerate(pairs)]
    return _limited(step, np.stack(scaled, -1))


def _limited(step: Step, values: Elements) -> Elements:
    low, high = cast("tuple[int, int]", step.numbers["limits"])
    return np.asarray(np.clip(values + step.output.quantization.zero_point, low, high))


def _numbers_of(step: Step, source: Elements) -> tuple[KernelCall, CallNumbers]:
    """The call, and its numbers for the house's sums of products."""
    call = cast("KernelCall", step.call)
    arrays = {array.name: array.values for array in step.arrays}
    weights = arrays.get("weights", np.zeros(0)).astype(np.int64)
    if weights.size:
        dense = step.form == "fully_connected"
        weights = weights + cast(int, step.numbers["filter_offset"])
        weights = weights.reshape((-1, call.filter_dims.n or 0) if dense else _sizes(call.filter_dims))
    zero = step.inputs[0].quantization.zero_point
    return call, CallNumbers(source.reshape(_sizes(call.input_dims)), weights, None, (), zero, 0, 8)


def _sums(step: Step, sources: list[Elements]) -> Elements:
    """Sums of products, with the bias: that of the kernel sums where it stands there alone."""
    call, numbers = _numbers_of(step, sources[0])
    arrays = {array.name: array.values.astype(np.int64) for array in step.arrays}
    bias = arrays.get("bias")
    if bias is None and "sums" in arrays:
        bias = arrays["sums"] + numbers.input_zero * numbers.weights.sum(axis=1)
    sums = summed(call.entry.rpartition("_")[0], call, numbers)
    return _rescaled(step, sums if bias is None else sums + bias)


def _pooled(step: Step, sources: list[Elements]) -> Elements:
    return _limited(step, computed(*_numbers_of(step, sources[0])))


def _shifted(step: Step, sources: list[Elements]) -> list[Elements]:
    """Both operands with their offsets, the repeated one as it is."""
    block, offsets = cast(int, step.numbers.get("block", -1)), cast("tuple[int, int]", step.numbers["offsets"])
    return [source.astype(np.int64).reshape(-1, block if block > 0 else source.size) + offset
            for source, offset in zip(sources, offsets, strict=True)]  # fmt: skip


def _added(step: Step, sources: list[Elements]) -> Elements:
    constants = cast(AddConstants, step.numbers["constants"])
    first, second = (
        requantize(source << ADD_LEFT_SHIFT[8], multiplier)
        for source, multiplier in zip(_shifted(step, sources), constants[:2], strict=True)
    )
    return _limited(step, requantize(first + second, constants.output))


def _multiplied(step: Step, sources: list[Elements]) -> Elements:
    first, second = _shifted(step, sources)
    return _rescaled(step, first * second)


def _chosen(step: Step, sources: list[Elements]) -> Elements:
    call = cast("KernelCall", step.call)
    first, second = (source.reshape(_sizes(dims)) for source, dims in zip(sources, call[1:3], strict=True))
    return np.asarray(EXTREMES[call.entry](first, second))


def _softmaxed(step: Step, sources: list[Elements]) -> Elements:
    exact = softmax_output(step, sources[0])
    return exact.values if exact else sources[0]


def _moved(step: Step, sources: list[Elements]) -> Elements:
    order = cast("KernelCall", step.call).permutation
    size = cast("tuple[int, ...]", step.numbers["size"])
    return np.asarray(sources[0].reshape(size[: len(order)]).transpose(order))


def _padded(step: Step, sources: list[Elements]) -> Elements:
    size, *ends = (cast("tuple[int, ...]", step.numbers[name]) for name in ("size", "before", "after"))
    return np.pad(sources[0].reshape(size), [*zip(*ends, strict=True)], constant_values=cast(int, step.numbers["fill"]))


def _matrices(step: Step, sources: list[Elements]) -> Elements:
    call, offsets = cast("KernelCall", step.call), cast("tuple[int, int]", step.numbers["offsets"])
    first, second = (
        source.astype(np.int64).reshape(_sizes(dims)) + offset
        for source, dims, offset in zip(sources, (call.input_dims, call.filter_dims), offsets, strict=True)
    )
    return _rescaled(step, first @ second.swapaxes(-1, -2))


class _Kind(NamedTuple):
    """One kind of call."""

    read: Callable[[_Call], _Numbers]
    """What the layer needs beside the call. Raises Unsupported."""
    compute: Callable[[Step, list[Elements]], Elements]
    """Its output in the order of memory."""


KINDS: Mapping[str, _Kind] = {
    "convolve": _Kind(_weighted, _sums),
    "depthwise": _Kind(_weighted, _sums),
    "transpose_conv": _Kind(_weighted, _sums),
    "fully_connected": _Kind(_weighted, _sums),
    "avgpool": _Kind(_pool, _pooled),
    "max_pool": _Kind(_pool, _pooled),
    "elementwise_add": _Kind(_add, _added),
    "elementwise_mul": _Kind(_mul, _multiplied),
    "minimum": _Kind(_extreme, _chosen),
    "maximum": _Kind(_extreme, _chosen),
    "softmax": _Kind(_softmax, _softmaxed),
    "transpose": _Kind(_transpose, _moved),
    "pad": _Kind(_pad, _padded),
    "batch_matmul": _Kind(_batch_matmul, _matrices),
}
"""By the entry point without its type; the form of the layer is the same without `elementwise_`."""


# The program, and its reference.


class _Space:
    """Activations by their keys in the graph, each with the memory it lies in, and the layers made so far."""

    def __init__(self, loaded: LoadedProgram, library: Library) -> None:
        target = Target("", Isa.SCALAR, library.release)
        self.loaded, self.library = loaded, library
        self.interpretation = Interpretation(loaded, (target,), EXECUTORCH._replace(brings=False, by_file=True), "")
        self.rows = self.interpretation.rows(target)
        self._buffers: dict[str, int] = {}

    def value(self, key: str, shape: tuple[int, ...], zero: int) -> Value:
        """An activation as one call reads or writes it."""
        buffer = self._buffers.setdefault(key, len(self._buffers))
        return Value(key, buffer, shape, tuple(range(len(shape))), Quantization(1.0, zero))

    def step(self, number: int) -> Step:
        """The layer of a call. Raises Unsupported."""
        call, row, node = self.loaded.calls[number], self.rows[number], self.loaded.graph.nodes[number]
        if row.call is None or row.cause == "kernel":
            raise Unsupported(row.reason)
        kernel = self.interpretation.kernels[number]
        if kernel is None:
            raise Unsupported(f"{call.op} is not run by this release of ExecuTorch")
        function = kernel.function
        if not self.library.has(function):
            raise Unsupported(f"this copy of CMSIS-NN {self.library.release} has no {function}")
        if call.tensor("kernel_sum") and not self.library.since(SUMS_HOLD_BIAS):
            raise Unsupported(f"its kernel sums hold the bias, as CMSIS-NN takes them from {SUMS_HOLD_BIAS} on")
        dims = (*row.call.input_dims, *row.call.output_dims, *row.call.filter_dims)
        if any(size is not None and size < 1 for size in dims):
            raise Unsupported("it has no elements")
        if max(work(row.call), _windows(row.call)) > MOST:
            raise Unsupported("it is larger than any board")
        stem = row.call.entry.rpartition("_")[0]
        read = KINDS[stem].read(_Call(self.loaded, call, row.call))
        wide = next((number for number in _integers(read) if not -(2**31) <= number < 2**31), None)
        if wide is not None:
            raise Unsupported(f"it is given {wide}; a register has 32 bits")
        keys = node.inputs[: len(read.offsets)]
        if read.numbers.get("swapped"):
            keys = keys[::-1]
        tensors = [self.loaded.graph.tensors[key] for key in (*keys, node.outputs[0])]
        shapes = [tuple(cast(int, size) for size in tensor.shape or ()) for tensor in tensors]
        zeros = (*(-offset for offset in read.offsets), read.result)
        *inputs, output = map(self.value, (*keys, node.outputs[0]), shapes, zeros)
        held = () if call.op == LINEAR else handed_over(call, kernel) or None
        if held and len(held) != len(kernel.scratch):
            raise Unsupported(f"it has {len(held)} of {len(kernel.scratch)} scratch buffers")
        step = Step(
            node.label, call.op.rpartition("::")[2], stem.removeprefix("elementwise_"), tuple(inputs), output, row.call,
            function, read.arrays, read.numbers, plan=FilePlan(held, partial(self.interpretation.plan, number)),
        )  # fmt: skip
        refuse_out_of_range(step)
        return step


def _windows(call: KernelCall) -> int:
    """Elements of all windows of a call, or of the input with what they reach around it: the host lays both out."""
    window = (call.filter_dims.h or 0) * (call.filter_dims.w or 0) * (call.input_dims.c or 0)
    around = max(map(abs, (*_whole(call.padding), *_whole(call.pad_after))))
    spans = zip(call.output_dims[1:3], call.stride, call.filter_dims[1:3], call.dilation, strict=True)
    reached = [
        (out or 0) * (step or 1) + (kernel or 0) * (apart or 1) + 2 * around for out, step, kernel, apart in spans
    ]
    plane = prod(size + 2 * max(reached) for size in _sizes(call.input_dims)[1:3])
    images = (call.input_dims.n or 0) * (call.input_dims.c or 0)
    return max(window * prod(_sizes(call.output_dims)[:3]), plane * images if window else 0)


def _whole(pair: Pair) -> tuple[int, ...]:
    return tuple(size or 0 for size in pair)


def executorch_program(loaded: LoadedProgram, library: Library) -> Program:
    """The calls of CMSIS-NN of all methods as layers; portable operators and delegates do not run.

    Raises:
        FirmwareError: the program has no call that can be run.

    """
    space, steps, foreign = _Space(loaded, library), [], []
    for number, node in enumerate(loaded.graph.nodes):
        try:
            steps.append(space.step(number))
        except Unsupported as error:
            foreign.append((node.label, str(error)))
    if not steps:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in foreign[:3])
        raise FirmwareError("no call of CMSIS-NN that can be run" + (f" ({reasons})" if reasons else ""))
    results = {step.output.tensor: step.output for step in steps}
    given = {value.tensor: value for step in steps for value in step.inputs if value.tensor not in results}
    outputs = tuple(results[key] for key in loaded.graph.outputs if key in results)
    return Program(tuple(given.values()), tuple(steps), outputs, tuple(foreign))


class IntegerReference:
    """What the calls of a program compute, in integers of any size."""

    runtime = "the integer reference"
    """Name in messages."""

    def __init__(self, loaded: LoadedProgram, program: Program, runs: int = 1) -> None:
        self._loaded, self._program = loaded, program
        read = loaded.reader()
        self._constants = {key: values for key in loaded.constants if (values := read(key)) is not None}
        self._cases = [_CaseRun(loaded, program, self._constants, case) for case in loaded.program.cases[:runs]]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the test cases of a bundle say, method by method; nothing of a file without any."""
        methods = dict.fromkeys(run.case.method for run in self._cases)
        groups = ([run for run in self._cases if run.case.method == method] for method in methods)
        return tuple(text for group in groups for text in _expected(group))

    def random_inputs(self, seed: int, count: int, ranges: dict[str, tuple[float, float]]) -> list[Arrays]:  # noqa: ARG002
        """Sets of inputs for what no layer makes: of a bundle's test cases, else random int8 from a seed.

        Constants are as they are.
        """
        generator = np.random.default_rng(seed)
        sets = []
        for number in range(count):
            known = {**self._constants, **(self._cases[number % len(self._cases)].known if self._cases else {})}
            sets.append(
                {
                    value.tensor: np.asarray(known[value.tensor]).reshape(value.shape)
                    if value.tensor in known
                    else generator.integers(*INT8, value.shape, np.int8, endpoint=True)
                    for value in self._program.inputs
                }
            )
        return sets

    def tensors(self, names: list[str], inputs: Arrays) -> Arrays:
        """Values of any tensors that layers read or make, for one set of inputs."""
        known = dict(inputs)
        for step in self._program.steps:
            known[step.output.tensor] = self.layer(step, known)
        missing = next((name for name in names if name not in known), None)
        if missing is not None:
            raise FirmwareError(f"{self._loaded.program.path}: no call of CMSIS-NN makes '{missing}'")
        return {name: known[name] for name in names}

    def layer(self, step: Step, inputs: Arrays) -> np.ndarray:
        """What one layer makes of its inputs, which are given under the keys of their tensors."""
        stem = cast("KernelCall", step.call).entry.rpartition("_")[0]
        values = KINDS[stem].compute(step, [inputs[value.tensor].reshape(-1) for value in step.inputs])
        if values.size != prod(step.output.shape):
            raise FirmwareError(
                f"{self._loaded.program.path}: '{step.label}' computes {values.size} numbers, and the file says "
                f"{list(step.output.shape)} of its result"
            )
        return values.astype(np.int8).reshape(step.output.shape)


# The test cases of a bundle: inputs, and the outputs that PyTorch computed.


class _NotComputedError(Exception):
    """A call that the host does not compute; the message says which, and why."""


class _CaseRun:
    """One test case, run on the host call by call: layers in integers, what lies between them as ExecuTorch does."""

    def __init__(
        self, loaded: LoadedProgram, program: Program, constants: Mapping[str, Elements], case: BundledCase
    ) -> None:
        self.case = case
        self.known: dict[str, Elements] = {}
        """Values by their keys in the graph, in the order of memory."""
        self.ended = ""
        """The first call that is not computed here, and why; empty where all are."""
        self._loaded, self._constants = loaded, constants
        self._layers = {step.label: step for step in program.steps}
        self._foreign = dict(program.foreign)
        names = [method.name for method in loaded.program.methods]
        if case.method not in names:
            raise FirmwareError(f"its test cases are for a method '{case.method}', which the program does not have")
        self._number = names.index(case.method)
        self.method: Method = loaded.program.methods[self._number]
        for what, places, values in (
            ("inputs", self.method.inputs, case.inputs),
            ("outputs", self.method.outputs, case.outputs),
        ):
            if values and len(places) != len(values):
                raise FirmwareError(
                    f"a test case has {len(values)} {what} for the {len(places)} of method '{case.method}'"
                )
        for index, given in zip(self.method.inputs, case.inputs, strict=False):
            tensor = self.method.values[index]
            if isinstance(tensor, PteTensor) and isinstance(given, BundledTensor):
                self.known[self._key(index)] = _lying_as(tensor, given)
        try:
            for node, call in zip(loaded.graph.nodes, loaded.calls, strict=True):
                if call.method == self._number and node.outputs:
                    self.known[node.outputs[0]] = self._result(call, node.inputs)
        except _NotComputedError as error:
            self.ended = str(error)

    def _key(self, index: int) -> str:
        return self._loaded.keys[self._number, index]

    def _values(self, key: str, label: str) -> Elements:
        values = self.known.get(key, self._constants.get(key))
        if values is None:
            raise _NotComputedError(f"{label} reads what is not known")
        return values.reshape(-1)

    def _result(self, call: ProgramCall, keys: tuple[str, ...]) -> Elements:
        """What a call writes."""
        if (step := self._layers.get(call.label)) is not None:
            stem = cast("KernelCall", step.call).entry.rpartition("_")[0]
            sources = [self._values(value.tensor, call.label) for value in step.inputs]
            return np.asarray(KINDS[stem].compute(step, sources).astype(np.int8).reshape(-1))
        compute, result = BETWEEN.get(call.op), call.written
        source = self.method.values[call.operands[0]] if call.operands and call.operands[0] >= 0 else None
        if compute is None or result is None or not isinstance(source, PteTensor):
            why = self._foreign.get(call.label, "")
            raise _NotComputedError(f"{call.label} is not computed on the host: {why}")
        values = self._values(keys[0], call.label)
        if values.size != prod(source.sizes) or values.size != prod(result.sizes):
            raise _NotComputedError(f"{call.label} reads {values.size} elements of {prod(source.sizes)}")
        return compute(call, values, source, result)

    def compared(self, number: int) -> tuple[Elements, Elements] | None:
        """An output and what is expected of it, in the order of memory; None for what is no tensor."""
        tensor, expected = self.method.values[self.method.outputs[number]], self.case.outputs[number]
        if not isinstance(tensor, PteTensor) or not isinstance(expected, BundledTensor):
            return None
        ours = self.known.get(self._key(self.method.outputs[number]))
        return None if ours is None else (ours, _lying_as(tensor, expected))


def _lying_as(tensor: PteTensor, given: BundledTensor) -> Elements:
    """Values of a bundle in the order of memory that the program has for them."""
    if (given.elem_type, given.sizes) != (tensor.elem_type, tensor.sizes):
        raise FirmwareError(
            f"a test case has {given.elem_type} of sizes {list(given.sizes)} for {tensor.elem_type} of sizes "
            f"{list(tensor.sizes)}"
        )
    try:
        values = np.frombuffer(given.data, np.dtype(given.elem_type))
    except TypeError:
        raise FirmwareError(f"a test case has values of {given.elem_type}, which are not read") from None
    return _reordered(values, given, tensor)


def _reordered(values: Elements, before: BundledTensor | PteTensor, after: PteTensor) -> Elements:
    """The same tensor in another order of memory."""
    laid_out = values.reshape([before.sizes[axis] for axis in before.order])
    return np.asarray(laid_out.transpose([before.order.index(axis) for axis in after.order]).reshape(-1))


def _quantized(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    """op_quantize_per_tensor.cpp: times the reciprocal in single precision, halves to even."""
    if source.elem_type != "float32" or result.elem_type not in ("int8", "int16"):
        raise _NotComputedError(f"{call.label} makes {result.elem_type} of {source.elem_type}")
    with np.errstate(all="ignore"):
        steps = np.rint(values * (np.float32(1) / np.float32(_scale(call))))
    low, high = (call.number_of(f"quant_{end}") for end in ("min", "max"))
    whole = np.nan_to_num(steps).astype(np.float64) + call.number_of("zero_point")
    return np.asarray(np.clip(whole, low, high).astype(result.elem_type))


def _real(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    """op_dequantize_per_tensor.cpp."""
    if source.elem_type not in ("int8", "int16") or result.elem_type != "float32":
        raise _NotComputedError(f"{call.label} makes {result.elem_type} of {source.elem_type}")
    whole = values.astype(np.int64) - call.number_of("zero_point")
    return np.asarray(whole.astype(np.float32) * np.float32(_scale(call)))


def _scale(call: ProgramCall) -> float:
    scale = call.arguments.get("scale")
    return float(scale) if isinstance(scale, float) else 0.0


def _copied(call: ProgramCall, values: Elements, source: PteTensor, result: PteTensor) -> Elements:
    if source.sizes != result.sizes or source.elem_type != result.elem_type:
        raise _NotComputedError(f"{call.label} copies into other sizes or another type")
    return _reordered(values, source, result)


BETWEEN: Mapping[str, Callable[[ProgramCall, Elements, PteTensor, PteTensor], Elements]] = {
    f"{BACKEND}quantize_per_tensor": _quantized,
    f"{BACKEND}dequantize_per_tensor": _real,
    "dim_order_ops::_clone_dim_order": _copied,
}
"""What programs have between their layers, by operator: values before and behind lie in the order of memory."""


def _expected(runs: list[_CaseRun]) -> list[str]:
    """What is to be said of the test cases of one method."""
    cases = f"the test case{'s' if len(runs) > 1 else ''} of method '{runs[0].case.method}' in the bundle ({len(runs)})"
    if ended := next((run.ended for run in runs if run.ended), ""):
        return [f"{cases}: outputs are not compared: {ended}"]
    told = []
    for number in range(min(len(run.case.outputs) for run in runs)):
        pairs = [pair for run in runs if (pair := run.compared(number)) is not None]
        if not pairs:
            continue
        ours, theirs = map(np.concatenate, zip(*pairs, strict=True))
        gaps = (
            compare_floats(ours, theirs.astype(np.float64), None) if ours.dtype.kind == "f" else compare(ours, theirs)
        )
        equal = f"equals what is expected, {gaps.total:,} elements"
        unlike = (
            f"differs from what is expected in {gaps.count:,} of {gaps.total:,} elements, by up to {gaps.largest:.3g}"
        )
        told.append(f"{cases}: output {number}, computed on the host, {unlike if gaps.count else equal}")
    return told or [f"{cases}: no output is expected"]
