"""A depthwise multiplier misses the tile of four.

Inside `arm_depthwise_conv_s8` a tile computes four output channels of one input channel at a time. It needs
`ch_mult % 4 == 0`, batch 1 and, except in 5.8.0, no dilation. Any other multiplier greater than 1 takes a generic loop.

Padding the multiplier to the next multiple of four was faster in every pair measured, on all three instruction sets
(4.0.0 to main): the numbers are in the finding. Depthwise layers of one input channel are different on MVE from 7.0.0 on: they become convolutions (CNN114) and
gain nothing.

**What to do.** Pad the multiplier: the new channels sit inside each input channel's group of outputs, not at
the end.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.cmsis_nn.conditions import greater
from onnxlint_cmsis.cmsis_nn.names import CH_MULT

CHECK = RoutingCheck(
    code="CNN113",
    name="depthwise-multiplier-tile",
    entries=frozenset({"depthwise_s8"}),
    kernels=frozenset({"depthwise_conv_s8_mult_4"}),
    scope=greater(CH_MULT, 1),
    variables=("ch_mult",),
)
