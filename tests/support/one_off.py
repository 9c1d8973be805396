"""One thing of a file changed by one: a number, a scale, the place of a lane."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np


class Lie(NamedTuple):
    """A file that is changed in one thing."""

    kind: str
    data: bytes


def other(array: np.ndarray, kind: str, rng: random.Random) -> np.ndarray:
    """The array with an element one more or less, or with two slices exchanged."""
    array = array.copy()
    if kind == "lane":
        axis = rng.choice([axis for axis, size in enumerate(array.shape) if size > 1])
        order = [*range(array.shape[axis])]
        first, second = rng.sample(order, 2)
        order[first], order[second] = second, first
        return array.take(order, axis)
    position = rng.randrange(array.size)
    element = array.flat[position : position + 1]
    if array.dtype.kind != "f":
        array.flat[position] = (element.astype(np.int64) + rng.choice((1, -1))).astype(array.dtype)[0]
    elif kind == "shift":
        array.flat[position] = element[0] * array.dtype.type(rng.choice((2, 0.5)))
    else:
        array.flat[position] = np.nextafter(element[0], array.dtype.type(rng.choice((0, np.inf))))
    return array


def kind_of(array: np.ndarray, scales: bool, rng: random.Random) -> str:
    """What a change of a constant is called."""
    if array.dtype.kind == "f":
        return rng.choice(("scale", "shift")) if scales else "constant"
    if max(array.shape, default=0) > 1 and rng.random() < 0.3:
        return "lane"
    if array.dtype.itemsize == 1:
        return "weight" if array.ndim > 1 else "zero-point"
    return "bias" if array.dtype == np.int32 else "constant"
