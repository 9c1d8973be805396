"""The elements of a resized constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.constants import FillKind, Use
from onnxlint_cmsis.fixers.planning.layouts import Places, Rearrangement
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.element_codes import Codes
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class StoredElements(NamedTuple):
    """What a resized constant is made from."""

    codes: Codes
    """Bit patterns before."""
    elem_type: str
    """numpy-like name of the type."""


Read = Callable[[Use], StoredElements]
"""Reads the stored constant that a node reads."""


def built(
    source: StoredElements, layout: Rearrangement, increments: Mapping[int, npt.NDArray[np.generic]], read: Read
) -> Codes:
    """Bit patterns of a constant after a layout. Raises NotAppliedError."""
    codes = source.codes
    if layout.reader >= 0:
        codes = element_codes.added(codes, source.elem_type, increments[layout.reader])
    if layout.numbers:
        codes = codes.copy()
        for element, value in layout.numbers:
            codes.reshape(-1)[element] = element_codes.number(source.elem_type, value)
    return placed(codes, layout.places, _filler(source, layout, read)) if layout.places else codes


def placed(old: Codes, places: Sequence[Places | None], filler: Codes) -> Codes:
    """Old elements at their new indices, and the filler, broadcast, where an index is new."""
    codes, new = old, np.zeros((1,) * old.ndim, bool)
    for axis, chosen in enumerate(places):
        if chosen is None:
            continue
        codes = np.take(codes, [index or 0 for index in chosen], axis=axis)
        shape = [1] * old.ndim
        shape[axis] = len(chosen)
        new = new | np.array([index is None for index in chosen]).reshape(shape)
    return np.where(new, filler, codes).astype(old.dtype)


def _filler(source: StoredElements, layout: Rearrangement, read: Read) -> Codes:
    """Bit patterns for new elements, to be broadcast."""
    chosen = layout.fill
    if chosen is None:
        return _scalar(source, 0)  # nothing is new
    if chosen.kind is FillKind.NUMBER:
        return _scalar(source, element_codes.number(source.elem_type, chosen.number))
    if chosen.kind is FillKind.FIRST:
        return _scalar(source, element_codes.first(source.codes, source.elem_type))
    vector = read(chosen.zero_points).codes
    if layout.zero_points is not None:
        vector = placed(vector, [layout.zero_points], vector[0])
    shape = [1] * source.codes.ndim
    shape[chosen.axis] = vector.size
    return vector.reshape(shape)


def _scalar(source: StoredElements, value: int) -> Codes:
    return np.array(value, source.codes.dtype)
