"""Values for a model's inputs: seeded, random within their span, its ends, and zeros."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.proof.inputs import Input, Span, UnfedError

Feed = dict[str, npt.NDArray[np.generic]]

SPANS: tuple[Span, ...] = ((-1000, 1000), (0, 15), (0, 1), (0, 0))
"""Spans to try for inputs of 32 and 64 bits, which may be indices into something small."""
SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
"""Sizes to try for symbolic axes, but for the batch."""
BATCHES = (1, 2)
"""Sizes to try for symbols that are the first axis of an input."""
MOST_VALUES = 1 << 26
"""Values that an input may have; its random numbers take 8 bytes each."""
FORMS = ("zeros", "lowest", "highest", "extremes", "uniform", "normal")
"""What an input holds; the last two are repeated with other values."""


class Setting(NamedTuple):
    """Choices that the model leaves open."""

    batch: int
    """Size of symbols that are the first axis of an input."""
    size: int
    """Size of every other symbol."""
    wide: Span
    """Span of 32- and 64-bit integers."""


def settings(inputs: list[Input]) -> Iterator[Setting]:
    """Settings to try, the likeliest first; one alone where the inputs leave nothing open."""
    batches = _batches(inputs)
    sizes = {size for one in inputs for size in one.shape if isinstance(size, str)} - batches
    wide = any(one.span is None for one in inputs)
    choices = product(BATCHES if batches else (1,), SPANS if wide else ((0, 0),), SIZES if sizes else (1,))
    return (Setting(batch, size, span) for batch, span, size in choices)


def feed(inputs: list[Input], setting: Setting, number: int, seed: int) -> Feed:
    """The `number`-th input of a model: each form once, then uniform and normal values in turn.

    Raises UnfedError for an input of too many values.
    """
    form = FORMS[number] if number < len(FORMS) else FORMS[4 + number % 2]
    batches = _batches(inputs)
    random = np.random.default_rng((seed, number))
    made: Feed = {}
    for one in inputs:
        sizes = [
            setting.batch if size in batches else setting.size if isinstance(size, str) else size for size in one.shape
        ]
        if prod(sizes) > MOST_VALUES:
            raise UnfedError(f"its input '{one.name}' has {prod(sizes):,} values; up to {MOST_VALUES:,} are tried")
        made[one.name] = _values(one, sizes, setting.wide, form, random)
        if one.compared and number % 2:
            value = one.compared[number // 2 % len(one.compared)]
            made[one.name] = np.full(sizes, value).astype(one.dtype)
    return made


def _batches(inputs: list[Input]) -> set[str]:
    return {one.shape[0] for one in inputs if one.shape and isinstance(one.shape[0], str)}


def _values(
    one: Input, sizes: list[int], wide: Span, form: str, random: np.random.Generator
) -> npt.NDArray[np.generic]:
    low, high = wide if one.span is None else one.span
    if form == "zeros":
        return np.zeros(sizes, one.dtype)
    if form in ("lowest", "highest"):
        return np.full(sizes, low if form == "lowest" else high).astype(one.dtype)
    if form == "extremes":
        return random.choice([low, high], sizes).astype(one.dtype)
    if form == "uniform":
        made = random.uniform(low, high, sizes)
    else:
        made = np.clip(random.normal((low + high) / 2, (high - low) / 6, sizes), low, high)
    return np.asarray(made if one.dtype.kind == "f" else np.rint(made)).astype(one.dtype)
