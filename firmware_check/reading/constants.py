"""The constants of a layer: each fits the C type that it is written into; a bias where the model has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from firmware_check.program import Array, Step
from firmware_check.reading.unreadable import Unsupported

_BITS = {"int8_t": 8, "int16_t": 16, "int32_t": 32, "int64_t": 64}


_INT32 = 1 << 31


BIAS_TYPE = {8: "int32_t", 16: "int64_t"}
"""Bits of the activations to the C type of a bias."""


def refuse_out_of_range(step: Step) -> None:
    """Unsupported where a number that is generated for a layer does not fit its C type."""
    for array in step.arrays:
        bits = _BITS.get(array.c_type)
        if bits is None:
            if not np.isfinite(array.values).all():
                raise Unsupported(f"its {array.name} have a number that is infinite or none in {array.c_type}")
            continue
        if array.values.size and not -(1 << (bits - 1)) <= int(array.values.min()) <= int(array.values.max()) < 1 << (
            bits - 1
        ):
            worst = max(array.values.reshape(-1), key=abs)
            raise Unsupported(f"its {array.name} has {int(worst)}, which {array.c_type} does not hold")
    for name, number in _whole_numbers("", step.numbers):
        if not -_INT32 <= number < _INT32:
            raise Unsupported(f"its scales give {name} {number}, which int32_t does not hold")


def _whole_numbers(name: str, value: object) -> Iterator[tuple[str, int]]:
    """Every whole number of a layer, under the name nearest to it."""
    if isinstance(value, (bool, float, str)):
        return
    if isinstance(value, (int, np.integer)):
        yield name, int(value)
    elif isinstance(value, dict):
        for key, number in value.items():
            yield from _whole_numbers(str(key), number)
    elif hasattr(value, "_asdict"):
        for key, number in value._asdict().items():
            yield from _whole_numbers(f"{name} {key}" if key in ("value", "shift") else key, number)
    elif isinstance(value, (tuple, list)):
        for number in value:
            yield from _whole_numbers(name, number)


def with_zeros(step: Step) -> Step:
    """The layer with a bias of zeros where its call has weights and no bias."""
    if step.call is None or step.call.bias or not any(array.name == "weights" for array in step.arrays):
        return step
    zeros = Array("bias", BIAS_TYPE[step.output.quantization.bits], np.zeros(step.call.output_dims.c or 0, np.int64))
    return replace(step, call=step.call._replace(bias=True), arrays=(*step.arrays, zeros))
