"""Tensors as the checker holds them: what stands in the file, and lanes of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.operators.integers import NotCoveredError
from onnxlint_cmsis.operators.scaled_numbers import Fixed

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.table import Ids


class Lanes(NamedTuple):
    """A tensor that is computed: integers with or without their scale, or real numbers where `integers` is False."""

    ids: Ids
    """Numbers; an axis of the plane has size 1 here."""
    shape: tuple[int, ...]
    """Sizes of the tensor."""
    plane: tuple[int, ...] = ()
    """Axes that one lane lies over, each of 2 and more, in their order."""
    integers: bool = False
    """Whether elements are integers of 16 bits at most."""
    scale: float = 0.0
    """Scale of integers that stand for real numbers; 0 where they are taken as they are."""
    zero: int = 0
    """Zero-point, as the device holds it."""
    bits: int = 8
    """Bits of the integers."""
    single: bool = False
    """Whether a runtime holds them as float32, in which it computes on."""


Value = Fixed | Lanes


DAMAGED = (NotCoveredError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""Errors that end in "not covered": sizes of a damaged file fit nothing, and what is not covered is not equal."""
