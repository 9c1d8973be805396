"""Route and scratch of the fully connected layer: per channel or per tensor.

Before 7.0.0 there is arm_fully_connected_s8 alone. MVE wants scratch for the sums of the kernel from 5.0.0 on.
"""

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, PER_CHANNEL
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, equal, unequal
from onnxlint_cmsis.cmsis_nn.releases import V5_8
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, Branch, Origin, Wrapper, size, within

_SIZE = "arm_fully_connected_s8_get_buffer_size"

FULLY_CONNECTED_S8 = (size(4 * FILTER.c, within(_SIZE, "5.0.0", MVE_ONLY)), size(0, within(_SIZE, V5_8)))
_FOLDER = "Source/FullyConnectedFunctions/"
_FILE = _FOLDER + "arm_fully_connected_wrapper_s8.c"
_FUNCTION = "arm_fully_connected_wrapper_s8"

FULLY_CONNECTED_S8_ROUTE = Wrapper(
    entry="fully_connected_s8",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_fully_connected_s8",
            equal(PER_CHANNEL, 0),
            Origin(
                _FOLDER + "arm_fully_connected_s8.c",
                "arm_fully_connected_s8",
                {V5_8: 0, "4.0.0": 50},
                until="7.0.0",
            ),
        ),
        Branch(
            "arm_fully_connected_per_channel_s8",
            unequal(PER_CHANNEL, 0),
            Origin(_FILE, _FUNCTION, {"7.0.0": 63, "main": 63}),
        ),
        Branch("arm_fully_connected_s8", TRUE, Origin(_FILE, _FUNCTION, {"7.0.0": 80, "main": 80})),
    ),
    sizes=FULLY_CONNECTED_S8,
    params="fc_params",
    absent="arm_fully_connected_s8 takes one scale for the whole tensor; per-channel scales came with 7.0.0",
)
