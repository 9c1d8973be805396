"""Integers that lanes of real numbers become in a scale: one fixed-point multiplication, between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.certificate.table import Key, Numbers
from onnxlint_cmsis.operators.integer_functions import function_steps
from onnxlint_cmsis.operators.integers import (
    NotCoveredError,
    Steps,
    multipliers,
    quantized_multiplier,
    requantized,
    sum_steps,
)
from onnxlint_cmsis.operators.scaled_numbers import Quantization

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.table import Array, Ids


DIVIDES_IN_FLOAT32 = ("RELU",)
"""Kernels that take integers to another scale by a factor in float32 in LiteRT and some revisions of TensorFlow Lite
Micro; QUANTIZE divides in float64. Where both make one multiplier, the kernels compute the same.

tensorflow/lite/micro/kernels/activations_common.cc and quantize_common.cc. Other clamps of the device keep the scale.
"""


def settle(table: Numbers, ids: Ids, stated: Quantization, *, single: bool = False) -> Ids:
    """The integers that lanes of real numbers become in a scale; `single`: some kernels divide scales in float32."""
    unique, inverse = np.unique(ids, return_inverse=True)
    clips = table.are(unique, "clip")
    inner = np.where(clips, table.rows[unique, 1], unique)
    clips &= ~table.are(inner, "clip")
    source, clip = np.where(clips, inner, unique), np.where(clips, table.rows[unique, 0], -1)
    limits = {name: [*map(stated.step, table.told[name][1:3])] for name in np.unique(clip[clips]).tolist()}
    limits[-1] = [stated.least, -stated.least - 1]
    name, first, second = table.rows[source].T
    scaled = table.are(source, "scaled")
    columns = [clip, name, second * scaled, table.unsettled[source]]
    for operand in (first * table.are(source, *UNARY, *BINARY), second * table.are(source, *BINARY)):
        columns += [_told(table, operand, scaled), table.low[operand], table.high[operand]]
    told = np.stack([column for column in columns if (column != column[:1]).any()] or columns[:1])
    _, alike, code = np.unique(told, axis=1, return_index=True, return_inverse=True)
    ways = [settled(table, int(source[at]), stated, limits[int(clip[at])], single) for at in alike.tolist()]
    name, second, low, high = np.array(ways, np.int64).reshape(-1, 4)[code.reshape(-1)].T
    inner = np.where(table.are(source, "real", "scaled"), first, source)
    new, of = name >= 0, np.where(name == table.name_of.get(("constant",)), low, inner)
    inner[new] = table.numbers(name[new], of[new], second[new], low[new], high[new])
    return inner[inverse].reshape(ids.shape)


def _told(table: Numbers, operands: Ids, sums: Array) -> Ids:
    """Names of operands; of sums the bits alone, below 0, as nothing else of them decides."""
    names = table.rows[operands, 0]
    unique, inverse = np.unique(names, return_inverse=True)
    bits = np.array([-int(told[3]) if told[0] == "sum" else 0 for told in (table.told[name] for name in unique)])
    return np.where(sums & (bits[inverse] < 0), bits[inverse], names)


def settled(
    table: Numbers, number: int, stated: Quantization, ends: Sequence[int], single: bool
) -> tuple[int, int, int, int]:
    """What a lane becomes between two bounds: its row without its operand, and its ends; -1 for what it is made of."""
    key, more, (least, most) = table.key(number), Key(), ends
    if key[0] == "real":
        _, inner, scale, zero, _ = key
        low, high = int(table.low[inner]), int(table.high[inner])
        if (scale, zero) == (stated.scale, stated.zero):
            if least <= low and high <= most:
                return -1, 0, 0, 0
            new: Key = ("clamp", least, most)
            steps: Steps | None = ((low - zero,), (high - zero,))
        else:
            factor = scale / stated.scale
            other = float(np.float32(scale) / np.float32(stated.scale)) if single else factor
            new = ("rescale", zero, *quantized_multiplier(factor), *quantized_multiplier(other), stated, least, most)
            ways = multipliers(factor)
            steps = [[s for way in ways for s in requantized(end - zero, *way, 8)] for end in (low, high)]
    elif key[0] == "scaled":
        _, inner, *products = key
        factor, other = (scale / stated.scale for scale in products)
        more = (*quantized_multiplier(factor), stated.zero, stated.bits, least, most, *quantized_multiplier(other))
        new = ("requantize",)
        steps = sum_steps(int(table.low[inner]), int(table.high[inner]), factor, table.key(inner)[3])
    elif table.unsettled[number]:
        raise NotCoveredError("it reads a sum that is never taken to integers")
    else:
        new, steps = ("quantize", stated, least, most), bounds(table, key, stated)
    low, high = (least, most) if steps is None else stated.held(steps, least, most)
    if steps is not None and low == high:
        return table.name("constant"), 0, low, high
    return table.name(*new), table.name(*more) if more else 0, low, high


BINARY = ("Add", "Sub", "Mul")
"""Functions of two operands whose least and greatest integers are known from those of their operands."""
UNARY = ("real", "scaled", "average", "curve")
"""The same of one operand."""


def bounds(table: Numbers, key: Key, stated: Quantization) -> Steps | None:
    """Least and greatest steps of a function of integers that is described; None where they are not known."""
    inner = [table.key(number) for number in (key[1], key[-1])[: (key[0] in UNARY) + 2 * (key[0] in BINARY)]]
    if not inner or any(operand[0] != "real" for operand in inner) or (key[0] == "average" and any(key[-2])):
        return None  # an average of padding too has another least and greatest element
    ends = [(int(table.low[of]), int(table.high[of])) for _, of, *_ in inner]
    given = [Quantization(scale, zero, 8) for _, _, scale, zero, _ in inner]
    name, alpha = key[2:4] if key[0] == "curve" else (key[0], None)
    return function_steps(name, alpha, ends, given, stated)
