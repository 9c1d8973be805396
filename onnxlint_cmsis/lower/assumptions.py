"""What lowering takes for granted where the model does not say it."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import FloatCall


class Assumptions(NamedTuple):
    """Choices of a converter that ONNX leaves open."""

    data_type: str = "s8"
    """`s8`, `s16` or `s4`: the type that float layers become; `f32` or `f16` where they stay float."""
    one_channel: str = "convolution"
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
    floating: FloatCall = FloatCall()
    """What calls for f32 and f16 are given: the form of their weights, and a buffer or none."""
    island: bool = False
    """Whether a layer of a quantized model is asked for that computes in float."""

    @property
    def stays_float(self) -> bool:
        """Tell whether layers that compute in float go to functions for floating-point numbers."""
        return self.data_type in FLOAT.types
