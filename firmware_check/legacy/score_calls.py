"""Calls of softmax and activations of CMSIS 5, whose hazards depend on numbers and not on sizes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from firmware_check.evidence.call_layer import CallStep, value_of
from firmware_check.float_arithmetic import FloatOutput
from firmware_check.program import Array, Elements, Step
from onnxlint_cmsis.ground.types import Dims, KernelCall

SOFTMAX_BIAS = {8: 1.5, 16: 3.0}
"""Steps that shifts in place of divisions leave a softmax off, by the bits of its numbers."""
FAR = 123
"""Distance of two scores from which on a difference in 8 bits is another number."""
LENGTHS = (4, 5, 6, 8, 12, 16, 24, 32)
"""Numbers of the rows that show a hazard."""


def softmax(data: Elements) -> Elements:
    """2^x over the sum of 2^x, in steps of the output."""
    wide = data.astype(np.float64) - data.max(axis=-1, keepdims=True)
    powers = np.exp2(wide)
    scale = 128 if data.dtype == np.int8 else 32768
    return np.asarray(np.minimum(powers / powers.sum(axis=-1, keepdims=True) * scale, scale - 1))


def row_call(entry: str, size: int) -> KernelCall:
    """A call of a function of one row of numbers."""
    dims = Dims(1, 1, 1, size)
    return KernelCall(entry, dims, Dims(1, 1, 1, 1), dims)


def row_step(
    label: str, function: str, source: Elements, expected: FloatOutput | Elements, arguments: str, **more: Any
) -> CallStep:
    """A function of one row as a layer of firmware.

    `allowed`: what is allowed beside what is expected. `entry`: the entry point, where the linter knows the function.
    """
    bits, allowed, entry = 8 * source.dtype.itemsize, more.pop("allowed", None), more.pop("entry", "")
    arrays = tuple(Array(name, f"int{bits}_t", values) for name, values in more.pop("arrays", {}).items())
    call = row_call(entry, source.size) if entry else None
    numbers = {"arguments": arguments, "scratch": 0, "in_place": False, "returns": False, **more}
    dims = Dims(1, 1, 1, source.size)
    step = Step(
        label, function, "legacy_call", (value_of("x", 0, dims, bits, 0),), value_of("y", 1, dims, bits, 0), call,
        f"arm_{function}", arrays, numbers,
    )  # fmt: skip
    if allowed is not None:
        expected = FloatOutput(np.asarray(expected, np.float64), np.full(source.size, float(allowed)))
    return CallStep(step, (source,), expected)


def softmax_step(label: str, data: Elements, expected: FloatOutput | None = None) -> CallStep:
    """A softmax of int8 or int16, held against its definition unless something else is expected."""
    bits = 8 * data.dtype.itemsize
    name, exact = f"softmax_q{bits - 1}", FloatOutput(softmax(data), np.full(data.size, SOFTMAX_BIAS[bits]))
    return row_step(label, name, data, expected or exact, f"source, {data.size}, result", entry=name)


def activation_step(label: str, data: Elements, name: str, width: int) -> CallStep:
    """SIGMOID or TANH by table, of int8 or int16 with `width` bits before the point."""
    bits, wide = 8 * data.dtype.itemsize, 1 << (8 * data.dtype.itemsize - 1)
    real = data.astype(np.float64) / wide * (1 << width)
    curve, slope = (1 / (1 + np.exp(-real)), 0.25) if name == "SIGMOID" else (np.tanh(real), 1.0)
    kind, coarse = f"q{bits - 1}", 2 + slope / 16 * wide * (1.0 if bits == 8 else 0.05)
    return row_step(
        label, f"nn_activations_direct_{kind}", data, np.minimum(curve * wide, wide - 1),
        f"result, {data.size}, {width}, ARM_{name}", allowed=coarse, in_place=True, entry=f"activation_{kind}",
    )  # fmt: skip


def _doubled(label: str, size: int, chance: np.random.Generator) -> CallStep:
    """Scores near to each other: no difference exceeds 8 bits, and the largest results are no 127."""
    return softmax_step(label, chance.integers(-3, 1, size).astype(np.int8))


def _of_8_bits(label: str, size: int, chance: np.random.Generator) -> CallStep:
    """Scores far below the largest one; twice the numbers, which the same function gives, counts as right."""
    data = np.concatenate([[127, 126], chance.integers(-128, 127 - FAR, size - 2)]).astype(np.int8)
    once = softmax(data)
    twice = np.minimum(2 * once, 127)
    allowed = (twice - once) / 2 + SOFTMAX_BIAS[8]
    return softmax_step(label, data, FloatOutput((once + twice) / 2, allowed))


def _negative(label: str, size: int, chance: np.random.Generator) -> CallStep:
    """Numbers of both signs, with two bits before the point."""
    return activation_step(label, chance.integers(-(2**15), 2**15, size).astype(np.int16), "SIGMOID", 2)


DRAWN: dict[str, Callable[[str, int, np.random.Generator], CallStep]] = {
    "8-bit-difference": _of_8_bits,
    "doubled": _doubled,
    "negative-index": _negative,
}
"""What a hazard's name has, to calls with numbers that show it."""


def score_steps(hazard: str, tries: int) -> list[CallStep]:
    """Calls with numbers that show a hazard of softmax or of an activation; none for other hazards."""
    drawing = next((drawing for name, drawing in DRAWN.items() if name in hazard), None)
    if drawing is None:
        return []
    return [drawing(f"{hazard} {n}", LENGTHS[n], np.random.default_rng(n)) for n in range(tries)]
