"""arm_convolve_wrapper_s16: the fast kernel on dsp up to 5.0.0, the general one else."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, less
from onnxlint_cmsis.cmsis_nn.names import COLS, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.releases import V5_9
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.convolve_scratch import CONVOLVE_S16
from onnxlint_cmsis.types import Isa

_FILE = CONVOLUTION + "arm_convolve_wrapper_s16.c"
_FUNCTION = "arm_convolve_wrapper_s16"
_SPLIT = (V5_9, "4.0.0", "4.1.0", "5.0.0")
_JOINED = "6.0.0"

WRAPPER = Wrapper(
    entry="convolve_s16",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_convolve_fast_s16",
            all_of(less(COLS, 512), UNIT_DILATION),
            Origin(_FILE, _FUNCTION, dict.fromkeys(_SPLIT, 63), isas=(Isa.DSP,), until=_JOINED),
        ),
        Branch(
            "arm_convolve_s16",
            TRUE,
            Origin(_FILE, _FUNCTION, dict.fromkeys(_SPLIT, 78), isas=(Isa.DSP,), until=_JOINED),
        ),
        Branch(
            "arm_convolve_s16",
            TRUE,
            Origin(_FILE, _FUNCTION, dict.fromkeys(_SPLIT, 92), isas=(Isa.SCALAR, Isa.MVE), until=_JOINED),
        ),
        Branch("arm_convolve_s16", TRUE, Origin(_FILE, _FUNCTION, {_JOINED: 62, "7.0.0": 62, "main": 62})),
    ),
    sizes=CONVOLVE_S16,
    absent="s16 convolution came with cmsis5-5.9.0",
)
