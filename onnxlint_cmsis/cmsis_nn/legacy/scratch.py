"""Bytes of `bufferA` or `vec_buffer` of the functions for q7 and q15, as their code uses them.

CMSIS 5 has no size functions for these. The scalar code uses no buffer.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import COLS, FILTER, IN, OUT, TAPS
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.legacy.builds import SQUARE, legacy_builds
from onnxlint_cmsis.cmsis_nn.rows import ScratchSize
from onnxlint_cmsis.cmsis_nn.terms import Term, term

_CONV, _DENSE, _POOL = "ConvolutionFunctions", "FullyConnectedFunctions", "PoolingFunctions"
_NO_LINE = (0, 0, 0, 0)


def _sizes(path: str, function: str, number: Term, when: Condition = TRUE) -> tuple[ScratchSize, ...]:
    """Bytes in code for DSP, none in scalar code. `path`: a folder or file under Source/."""
    file = path if path.endswith(".c") else f"{path}/{function}.c"
    builds = legacy_builds(file, function, _NO_LINE, _NO_LINE)
    return tuple(ScratchSize(number if build.dsp else term(0), build.origin, when) for build in builds)


_EVEN = all_of(SQUARE, equal(IN.c % 2, 0), equal(OUT.c % 2, 0), equal(OUT.w % 2, 0))
CONVOLVE_Q7 = _sizes(_CONV, "arm_convolve_HWC_q7_basic", 4 * COLS)
"""Bytes of two columns of 16 bits, for every function."""

CONVOLVE_Q15 = (
    *_sizes(_CONV, "arm_convolve_HWC_q15_fast", 4 * COLS, _EVEN),
    *_sizes(_CONV, "arm_convolve_HWC_q15_basic", 2 * COLS, SQUARE),
    *_sizes(_CONV, "arm_convolve_HWC_q15_fast_nonsquare", 4 * COLS),
)

DEPTHWISE_Q7 = _sizes(_CONV, "arm_depthwise_separable_conv_HWC_q7", IN.c * TAPS)
DENSE_Q7 = _sizes(_DENSE, "arm_fully_connected_q7", 2 * FILTER.n)
DENSE_Q15 = _sizes(_DENSE, "arm_fully_connected_q15", term(0))
DENSE_Q7Q15 = _sizes(_DENSE, "arm_fully_connected_mat_q7_vec_q15", term(0))
MAX_POOL_Q7 = _sizes(f"{_POOL}/arm_pool_q7_HWC.c", "arm_maxpool_q7_HWC", term(0))
AVGPOOL_Q7 = _sizes(f"{_POOL}/arm_pool_q7_HWC.c", "arm_avepool_q7_HWC", 2 * OUT.w * IN.c)
