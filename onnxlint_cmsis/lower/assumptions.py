"""What lowering takes for granted where the model does not say it."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class Assumptions(NamedTuple):
    """Choices of a converter that ONNX leaves open."""

    data_type: str = "s8"
    """`s8`, `s16` or `s4`: the type that float layers become."""
    one_channel: str = "convolution"
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
