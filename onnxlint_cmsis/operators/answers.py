"""Answers that the record of an operator gives in one word."""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class NotFollowed(NamedTuple):
    """A facet that the record leaves open."""

    because: str
    """One clause a person can read."""


class Elements(str, Enum):
    """What the elements of the first output are, in terms of the inputs' elements."""

    SAME = "same"
    """The first input as it is."""
    RENAMED = "renamed"
    """The first input's bytes under another shape."""
    TRANSPOSED = "transposed"
    """The first input with its axes in the order of `perm`."""
    MOVED = "moved"
    """Elements of the first input in another order, some of them, or some of them repeated; all outputs alike."""
    JOINED = "joined"
    """Elements of all data inputs."""
    PADDED = "padded"
    """Elements of the first input, and further ones around them."""
    SELECTED = "selected"
    """Some elements of the first input, and zeros: which ones depends on their values."""
    CAST = "cast"
    """Numbers of the first input in another type."""
    QUANTIZED = "quantized"
    """Real numbers of the first input in steps of a scale."""
    DEQUANTIZED = "dequantized"
    """Steps of a scale of the first input as real numbers."""
    REQUANTIZED = "requantized"
    """Steps of one scale of the first input in steps of another."""
    MEASURED = "measured"
    """Real numbers of the first input in steps of a scale; the scale is measured at run time."""
    COMPARED = "compared"
    """Truth values: how two inputs compare."""
    STORED = "stored"
    """Constants that the node itself holds."""
    REPEATED = "repeated"
    """One constant that the node itself holds, everywhere."""
    SIZES = "sizes"
    """Sizes of a tensor; its elements do not matter."""
    RANDOM = "random"
    """Numbers that are drawn anew in every run."""
    BODIES = "bodies"
    """What subgraphs make, whose nodes speak for themselves."""
    COMPUTED = "computed"
    """New values."""


CONVERTED = frozenset({Elements.CAST, Elements.QUANTIZED, Elements.DEQUANTIZED, Elements.REQUANTIZED})
"""The same real numbers, up to rounding, stored in another way. MEASURED is not among them: its scale is computed."""
UNCHANGED = frozenset({Elements.SAME, Elements.RENAMED})
"""The same bytes, so that nothing has to be done at run time."""
MOVING = UNCHANGED | {Elements.TRANSPOSED, Elements.MOVED}
"""Elements of the first input and nothing else, whatever their values."""
NO_DATA = frozenset({Elements.STORED, Elements.REPEATED, Elements.SIZES, Elements.BODIES})
"""Nothing is computed from the elements of an input by the node itself."""


class Layout(str, Enum):
    """How the axes of an operator's tensors lie at run time, where ONNX's definition of it tells."""

    IMAGE = "image"
    """NCHW or NCW in ONNX: batch, channels, plane."""
    ORDERED = "ordered"
    """The result is stored in the order of its axes."""
    EITHER = "either"
    """The operator does not tell."""


class Risk(str, Enum):
    """When an operator may make NaN or infinity of finite numbers."""

    NONE = "none"
    """Never, up to the range of its type."""
    ALWAYS = "always"
    """It is not defined on some numbers, or grows fast."""
    LARGE_OPERAND = "large operand"
    """Where a constant operand is large."""
    EXTREME_FACTOR = "extreme factor"
    """Where a constant factor is large or close to 0."""
    DIVISOR = "divisor"
    """Where the divisor is not one constant, or as an extreme factor."""
    EPSILON = "epsilon"
    """Where `epsilon` is not above 0."""
    SHORT_TYPE = "short type"
    """Where the result is of a real type with few exponent bits."""
