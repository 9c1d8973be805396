"""What a new lane of an operator's constants holds."""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.operators.answers import NotFollowed


class NewElement(str, Enum):
    """What a new element of an input is."""

    ZERO = "zero"
    """Real 0: the zero-point where the input holds quantized values."""
    ONE = "one"
    """Real 1."""
    SERVING = "serving"
    """The first old element that can serve: a scale that is positive and finite, or a zero-point."""
    AS_READ = "as read"
    """The nodes that read the result decide."""


class NewLane(NamedTuple):
    """What new elements of an operator's inputs are; those of scales and zero-points are always SERVING."""

    element: NewElement = NewElement.ZERO
    """What they are in every input that `ones` does not name."""
    ones: tuple[int, ...] = ()
    """Inputs where they are ONE, since 0 would make NaN or infinity, or no lane of a normalization."""


ZEROS = NewLane()
"""Weights, biases, slopes and operands: real 0."""
AS_READ = NewLane(NewElement.AS_READ)
"""The result holds elements of the inputs, so its readers decide."""
NO_NEW_LANES = NotFollowed("its axes are not followed, so its constants get no new lanes")
