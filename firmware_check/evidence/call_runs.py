"""Single calls as C, built and run."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.compilers import Trouble
from firmware_check.errors import FirmwareError, LayerEndedError, RunEndedError, TooLargeError
from firmware_check.evidence.exact_arithmetic import CallNumbers, computed
from firmware_check.execution import execute
from firmware_check.float_arithmetic import FloatOutput
from firmware_check.groups import groups_of
from firmware_check.judging import damage_of, dispatch_of
from firmware_check.program import Array, Quantization, Step, Value, packed, side_by_side
from firmware_check.reading.forms import FORMS
from firmware_check.verdict import compare, compare_floats
from onnxlint_cmsis.ground.types import Dims
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.runtimes.host.onnx_runtime import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from firmware_check.build import Bench
    from firmware_check.execution import Executed, Observed
    from firmware_check.library import Library
    from firmware_check.program import Elements
    from onnxlint_cmsis.ground.types import FloatCall, KernelCall, Pair


# A kernel call in a line.


def call_text(call: KernelCall) -> str:
    """`convolve_s8 1x1x9x8 -> 1x1x7x4, filter 4x1x3x2, stride 1x1, padding 0x0`, with what is not usual."""
    parts = [f"{call.entry} {_x(call.input_dims)} -> {_x(call.output_dims)}"]
    if call.permutation:
        parts.append(f"order {' '.join(map(str, call.permutation))}")
    if any(size not in (1, None) for size in call.filter_dims):
        parts.append(f"filter {_x(call.filter_dims)}")
    for name, pair, usual in (
        ("stride", call.stride, (1, 1)),
        ("padding", call.padding, (0, 0)),
        ("dilation", call.dilation, (1, 1)),
    ):
        if tuple(pair) != usual:
            parts.append(f"{name} {_x(pair)}")
    if not call.bias:
        parts.append("no bias")
    if call.initial_state:
        parts.append("an initial state")
    parts += _said_of_floats(call.floating) if call.floating else []
    return ", ".join(parts)


def _said_of_floats(given: FloatCall) -> list[str]:
    """What a call for f32 or f16 says that is not usual."""
    said = ["packed"] if given.packed else []
    said += ["no buffer"] if given.scratch == 0 else []
    said += ["adj_y"] if given.adj_y else []
    return said if tuple(given.padding_offset) == (0, 0) else [*said, f"padding_offsets {_x(given.padding_offset)}"]


def _x(sizes: Dims | Pair) -> str:
    return "x".join("?" if size is None else str(size) for size in sizes)


# A kernel call as a layer of firmware: random numbers of the call's sizes, and what it has to compute from them.


_INPUT_ZERO, _OUTPUT_ZERO = 7, -5
_WEIGHTS = {"s8": 127, "s4": 7, "s16": 127}
_BIAS = {8: "int32_t", 16: "int64_t"}
_BEHIND = 16
"""Bytes other than zero behind the weights, so that a kernel that reads on is seen."""
_SPREAD = {8: 45.0, 16: 9000.0}
"""Standard deviation that outputs should have: most of the range is used and little is cut off."""


class CallStep(NamedTuple):
    """One call, ready for the device."""

    step: Step
    """The layer."""
    sources: tuple[Elements, ...]
    """What the host gives it, an array for each input, as they lie in memory."""
    expected: Elements | FloatOutput | None
    """What it has to compute, as it lies in memory; None where the sizes are of no convolution."""


WITHOUT_BUFFER = {"arm_svdf_s8": "svdf_without_buffer", "arm_batch_matmul_s8": "batch_matmul_without_buffer"}
"""Function that is called in no other way than without its buffer, to the form of that call."""


EXTREMES = {"maximum_s8": np.maximum, "minimum_s8": np.minimum}
"""Entry points of two activations that are repeated along axes of size 1, to what they compute."""
TRANSPOSE = "transpose"
"""Form of a call that no layer of a model is run with: the device moves what a Transpose moves by itself."""


def without_buffer(label: str, function: str) -> CallStep:
    """A call of a function whose context has no buffer."""
    dims = Dims(1, 1, 1, 1)
    values = value_of("x", 0, dims, 8, 0), value_of("y", 1, dims, 8, 0)
    step = Step(label, function, WITHOUT_BUFFER[function], values[:1], values[1], None, function)
    return CallStep(step, (np.zeros(1, np.int8),), None)


def transposing(label: str, call: KernelCall, seed: int) -> CallStep:
    """A transpose of random numbers."""
    data = np.random.default_rng(seed).integers(-128, 128, _sizes(call.input_dims)).astype(np.int8)
    rank = len(call.permutation)
    sizes = (_sizes(dims)[4 - rank :] + (1,) * (4 - rank) for dims in (call.input_dims, call.output_dims))
    numbers: dict[str, object] = dict(zip(("size", "result"), sizes, strict=True))
    values = value_of("x", 0, call.input_dims, 8, 0), value_of("y", 1, call.output_dims, 8, 0)
    step = Step(label, call.entry, TRANSPOSE, values[:1], values[1], call, "arm_transpose_s8", (), numbers)
    moved = data.reshape(_sizes(call.input_dims)[4 - rank :]).transpose(call.permutation)
    return CallStep(step, (data.reshape(-1),), moved.reshape(-1))


def comparing(label: str, call: KernelCall, seed: int) -> CallStep:
    """The larger, or the smaller, of random numbers."""
    generator = np.random.default_rng(seed)
    sides = call.input_dims, call.filter_dims
    data = [generator.integers(-128, 128, _sizes(dims)).astype(np.int8) for dims in sides]
    values = tuple(value_of(f"x{number}", number, dims, 8, 0) for number, dims in enumerate(sides))
    output = value_of("y", 2, call.output_dims, 8, 0)
    form = call.entry.removesuffix("_s8")
    step = Step(label, call.entry, form, values, output, call, f"arm_{call.entry}", (), {"constant": None})
    return CallStep(step, tuple(values.reshape(-1) for values in data), EXTREMES[call.entry](*data).reshape(-1))


def call_step(label: str, call: KernelCall, library: Library, seed: int = 1) -> CallStep:
    """The layer of a call; its numbers follow from the seed."""
    if call.permutation:
        return transposing(label, call, seed)
    if call.entry in EXTREMES:
        return comparing(label, call, seed)
    stem, _, kind = call.entry.rpartition("_")
    bits = 16 if kind == "s16" else 8
    generator = np.random.default_rng(seed)
    zeros = (0, 0) if bits == 16 else (_INPUT_ZERO, _OUTPUT_ZERO)
    pooling = stem in ("avgpool", "max_pool")
    source = generator.integers(-(1 << (bits - 1)), 1 << (bits - 1), _sizes(call.input_dims))
    weights: Elements = np.zeros(0)
    if not pooling:
        weights = generator.integers(-_WEIGHTS[kind], _WEIGHTS[kind] + 1, weights_shape(stem, call))
    depth = weights.size // max(call.output_dims.c or 1, 1)
    spread = float(max(1.0, np.std(source) * _WEIGHTS[kind] * 0.58 * np.sqrt(max(depth, 1))))
    bias = generator.integers(-int(spread), int(spread) + 1, call.output_dims.c or 0) if call.bias else None
    reals = _SPREAD[bits] / spread * generator.uniform(0.7, 1.3, call.output_dims.c or 0)
    if stem == "fully_connected" and not call.per_channel:
        reals = np.full_like(reals, reals[0])
    multipliers = tuple(quantize_multiplier(float(real)) for real in reals)
    operands = CallNumbers(source, weights, None if pooling else bias, multipliers, *zeros, bits)
    arrays = () if pooling else _arrays(operands, kind, bits)
    values = value_of("x", 0, call.input_dims, bits, zeros[0]), value_of("y", 1, call.output_dims, bits, zeros[1])
    numbers: dict[str, object] = {
        "limits": (values[1].quantization.lowest, values[1].quantization.highest),
        "filter_offset": 0, "per_channel": bool(call.per_channel),
    }  # fmt: skip
    function = FORMS[stem].function(kind, library)
    step = Step(label, stem, stem, values[:1], values[1], call, function, arrays, numbers)
    kind_of = np.int16 if bits == 16 else np.int8
    expected = computed(call, operands).reshape(-1) if _divides(call) else None
    return CallStep(step, (source.astype(kind_of).reshape(-1),), expected)


def _divides(call: KernelCall) -> bool:
    """Whether the channels divide into groups, so that there is something to compute."""
    stem, depth, in_c = call.entry.rpartition("_")[0], call.filter_dims.c or 0, call.input_dims.c or 0
    if stem == "depthwise":
        return in_c * (call.ch_mult or 0) == call.output_dims.c
    if stem != "convolve":
        return True
    return 0 < depth <= in_c and not in_c % depth and not (call.output_dims.c or 0) % (in_c // depth)


def _sizes(dims: Dims) -> tuple[int, ...]:
    return tuple(size or 0 for size in dims)


def value_of(name: str, buffer: int, dims: Dims, bits: int, zero: int) -> Value:
    """An activation of a call, as it lies in memory."""
    return Value(name, buffer, _sizes(dims), (0, 1, 2, 3), Quantization(1.0, zero, bits))


def weights_shape(stem: str, call: KernelCall) -> tuple[int, ...]:
    """OHWI of a convolution, 1HWO of a depthwise one, [out_c, depth] of a fully connected layer."""
    sizes = _sizes(call.filter_dims)
    return (call.output_dims.c or 0, sizes[0]) if stem == "fully_connected" else sizes


def _arrays(operands: CallNumbers, kind: str, bits: int) -> tuple[Array, ...]:
    stored = packed(operands.weights.reshape(-1)) if kind == "s4" else operands.weights.reshape(-1)
    return (
        Array("weights", "int8_t", np.append(stored, np.full(_BEHIND, 77))),
        *([] if operands.bias is None else [Array("bias", _BIAS[bits], operands.bias)]),
        Array("multipliers", "int32_t", np.array([multiplier.value for multiplier in operands.multipliers])),
        Array("shifts", "int32_t", np.array([multiplier.shift for multiplier in operands.multipliers])),
    )


def work(call: KernelCall) -> int:
    """How large a call is: elements read and written."""
    return sum(
        prod(max(size or 0, 1) for size in dims) for dims in (call.input_dims, call.filter_dims, call.output_dims)
    )


# Many calls in one firmware, each alone; one that faults is taken out and the others run again.


EXACT = ("legacy_call", "transpose", "maximum", "minimum")
"""Forms of calls that have to give every bit: they shift, move or choose where others multiply."""


class CallRun(NamedTuple):
    """What one call did."""

    trouble: Trouble
    """Status, wrong values, overwritten guards."""
    observed: Observed | None
    """Functions that ran; None where the firmware ended in the call."""
    unlike: tuple[str, ...] = ()
    """What of kernels, status and scratch is not as predicted."""
    ended: str = ""
    """How the firmware ended in the call, if it did."""
    failed: str = ""
    """Why no firmware ran, if none did."""
    off: float = 0.0
    """Of floats: largest error as a part of the larger of the result and 0.5."""


def run_calls(calls: Mapping[str, KernelCall], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls by their labels; those that cannot run on the board are left out."""
    return run_steps([call_step(label, call, bench.library) for label, call in calls.items()], bench, folder)


def run_steps(steps: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """Run calls that are made already."""
    distinct = {step.step.label: step for step in steps}
    groups, _ = groups_of([step.step for step in distinct.values()], bench.board, bench.target)
    runs: dict[str, CallRun] = {}
    for number, group in enumerate(groups):
        runs |= _group([distinct[step.label] for step in group], bench, folder / f"group_{number}")
    return runs


def _group(steps: Sequence[CallStep], bench: Bench, folder: Path) -> dict[str, CallRun]:
    """One group; where the firmware ends in a layer, that layer apart and the others again."""
    if not steps:
        return {}
    program, given = side_by_side([step.step for step in steps]), [array for step in steps for array in step.sources]
    try:
        done = execute(program, bench, folder, "calls", [given])
    except LayerEndedError as error:
        ended = CallRun(Trouble(0, (), (str(error),)), None, ended=str(error))
        rest = [step for step in steps if step.step.label != error.label]
        return {error.label: ended, **_group(rest, bench, folder / "again")}
    except (TooLargeError, RunEndedError):
        raise
    except FirmwareError as error:
        if len(steps) == 1:
            return {steps[0].step.label: CallRun(Trouble(0, (), ()), None, failed=str(error))}
        middle = len(steps) // 2
        first = _group(steps[:middle], bench, folder / "first")
        return {**first, **_group(steps[middle:], bench, folder / "second")}
    return {step.step.label: _judged(step, done, number, bench) for number, step in enumerate(steps)}


def _judged(step: CallStep, done: Executed, number: int, bench: Bench) -> CallRun:
    reports = done.traced.layers[number], done.plain.layers[number]
    output = done.plain.outputs[0][number]
    trouble = Trouble(reports[0].status, _wrong(step, output), tuple(damage_of(*reports)))
    unlike = dispatch_of(step.step, bench.target, done.observed[number], reports[0])
    return CallRun(trouble, done.observed[number], tuple(unlike), off=_off(step, output))


def _off(step: CallStep, output: np.ndarray) -> float:
    if not isinstance(step.expected, FloatOutput):
        return 0.0
    error = np.abs(output.astype(np.float64) - step.expected.values)
    return float(np.nan_to_num(error / np.maximum(np.abs(step.expected.values), 0.5), nan=np.inf).max(initial=0))


def _wrong(step: CallStep, output: np.ndarray) -> tuple[str, ...]:
    if step.expected is None:
        return ()
    if isinstance(step.expected, FloatOutput):
        floats = compare_floats(output, step.expected.values, step.expected.allowed)
        if (floats.strain or 0) <= 1:
            return ()
        return (f"values wrong by up to {floats.largest:.2g}, {floats.strain:.2g} times what rounding allows",)
    differences = compare(output, step.expected)
    if differences.largest <= (0 if step.step.form in EXACT else TOLERANCE[step.step.output.quantization.bits]):
        return ()
    return (f"{differences.count} of {differences.total} values wrong, by up to {differences.largest}",)
