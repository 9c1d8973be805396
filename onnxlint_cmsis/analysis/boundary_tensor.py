"""An input or an output of a model: the numbers that it holds, and who converts them."""

from __future__ import annotations

import re
from enum import Enum

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.lower.dims import shape_text
from onnxlint_cmsis.lower.stored_types import MOVES
from onnxlint_cmsis.operators.answers import Elements

IMAGE_RANK = 4
"""Axes of an image."""
CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
"""Operators of TensorFlow Lite between real numbers and integers."""
PASSES = MOVES | {Elements.QUANTIZED, Elements.DEQUANTIZED, Elements.REQUANTIZED}
"""Elements of operators between the edge of a model and its first or last layer."""
INTEGERS = re.compile(r"(u?)int(\d+)")


class Conversion(str, Enum):
    """Who turns real numbers into the integers of an input, and those of an output back."""

    APPLICATION = "application"
    """The application: the tensor holds integers."""
    MODEL = "model"
    """An operator of the model: the tensor holds real numbers."""
    CONVERTER = "converter"
    """What a converter writes decides whether the application or the model does."""
    QUANTIZER = "quantizer"
    """The model computes in float: what quantizes it decides on scale and zero-point."""
    NONE = "none"
    """Nobody: the tensor holds real numbers that stay so, or integers without a scale."""


class Ties(str, Enum):
    """Where a number between two integers goes."""

    EVEN = "to even"
    """QuantizeLinear (onnx.ai/onnx/operators/onnx__QuantizeLinear.html)."""
    AWAY = "away from zero"
    """TensorFlow Lite Micro 90b983c2: TfLiteRound in AffineQuantize (lite/kernels/internal/reference/quantize.h, line
    46), and `round` in FloatToQuantizedType (lite/micro/micro_utils.h, line 43)."""


def shortest(scale: float) -> str:
    """The shortest decimal number of which the nearest float32 is this scale."""
    return str(np.float32(scale))


class BoundaryTensor(NamedTuple):
    """An input or an output of a model."""

    role: str
    """`input` or `output`."""
    name: str
    """Tensor in the file."""
    elem_type: str
    """numpy-like type of what lies in the device's memory; empty where unknown."""
    shape: tuple[Size, ...] | None
    """Sizes from the slowest axis in memory to the fastest; None where the rank is unknown."""
    layout: str = ""
    """`NHWC` or `NWC` where these are the axes of an image; empty for all else."""
    file_type: str = ""
    """Type in the file."""
    file_shape: tuple[Size, ...] | None = None
    """Sizes in the file's order."""
    conversion: Conversion = Conversion.NONE
    """Who converts between real numbers and integers."""
    integers: str = ""
    """Type of the integers, as the device has them; empty where there are none with a scale."""
    scale: float | None = None
    """real = scale * (integer - zero_point); None where there is none, or no one number."""
    zero_point: int | None = None
    """Integer of real 0."""
    node: str = ""
    """Label of the node that states scale and zero-point; empty where the tensor itself does."""
    ties: Ties = Ties.EVEN
    """How the numbers of an input are rounded."""

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and largest integer of the type."""
        bits = int(self.integers.rpartition("int")[2])
        return (0, (1 << bits) - 1) if self.integers[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    @property
    def real_bounds(self) -> tuple[float, float]:
        """Least and largest real number that has an integer."""
        low, high = ((self.scale or 0.0) * (bound - (self.zero_point or 0)) for bound in self.bounds)
        return low, high

    @property
    def formula(self) -> str:
        """`q = round(x / 0.0078125) - 1`, or `x = 0.0078125 * (q + 1)` for an output; empty without a scale."""
        if self.scale is None:
            return ""
        step, zero = shortest(self.scale), self.zero_point or 0
        if self.role == "output":
            return f"x = {step} * (q {'-' if zero > 0 else '+'} {abs(zero)})" if zero else f"x = {step} * q"
        offset = f" {'-' if zero < 0 else '+'} {abs(zero)}" if zero else ""
        return f"q = round(x / {step}){offset}"

    @property
    def text(self) -> str:
        """What it holds, as a clause."""
        kind = f"{self.elem_type or 'unknown type'} {shape_text(self.shape)} {self.layout}".rstrip()
        if self.conversion is Conversion.NONE:
            return f"{kind}, {'real numbers' if self.elem_type.startswith('float') else 'used as it is'}"
        if self.conversion is Conversion.QUANTIZER:
            return f"{kind}; what quantizes the model decides on scale and zero-point"
        numbers = "no one scale that is known"
        if self.scale is not None:
            low, high = self.real_bounds
            tied = f", ties {self.ties.value}" if self.role == "input" else ""
            numbers = f"{self.formula}, x from {low:.6g} to {high:.6g}{tied}"
        if self.conversion is Conversion.APPLICATION:
            return f"{kind}, {numbers}"
        if self.conversion is Conversion.CONVERTER:
            return f"{kind} in the file, {self.integers}: {numbers}; the converter decides on type and order"
        verb = "quantizes" if self.role == "input" else "dequantizes"
        return f"{kind}, real numbers; the model {verb}, {self.integers}: {numbers}"
