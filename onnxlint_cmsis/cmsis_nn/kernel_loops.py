"""The loops of each kernel: one row for each kernel, instruction set and run of releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import cast

from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

Loops = Callable[[LoopSizes, Isa], Counts]
"""Counts how often the loops of a kernel run."""


def _any(_: LoopSizes) -> bool:
    return True


def _dense(sizes: LoopSizes) -> bool:
    return sizes.filter_c == sizes.in_c


def _ordered(sizes: LoopSizes) -> bool:
    """The permutation decides which loop runs. No loop was measured with a repeated axis."""
    return len(sizes.permutation) > 1 and sorted(sizes.permutation) == [*range(len(sizes.permutation))]


def _joined(sizes: LoopSizes) -> bool:
    """How long the runs are is known."""
    return sum(sizes.runs) > 0


def _touching(sizes: LoopSizes) -> bool:
    """Maximum pooling copies the first tap of a window: there has to be one."""
    below, beside = (sizes.out_h - 1) * sizes.stride_h - sizes.pad_h, (sizes.out_w - 1) * sizes.stride_w - sizes.pad_w
    touches = sizes.pad_h < sizes.filter_h and sizes.pad_w < sizes.filter_w
    return touches and below < sizes.in_h and beside < sizes.in_w


def _one_image(sizes: LoopSizes) -> bool:
    """Pooling goes over the images from 6.0.0 on only."""
    return sizes.n == 1 and _touching(sizes)


def _rows(sizes: LoopSizes) -> bool:
    """arm_softmax_s8 works on rows: the layer has no plane. Rows of one value take up to a quarter less."""
    return sizes.in_h == sizes.in_w == 1 and sizes.in_c > 1


class Kernel(NamedTuple):
    """The loops of one function that does the work of a layer."""

    effective: str
    """C function, as a route names it."""
    loops: str
    """What counts how often they run: a function of a file of `loops`."""
    isas: tuple[Isa, ...] = ALL_ISAS
    """Instruction sets it has them on."""
    since: str = "4.0.0"
    """First release it has them in."""
    until: str = ""
    """First release it does not have them in; empty where the newest has them."""
    covers: Callable[[LoopSizes], bool] = _any
    """Whether a call stays on the code that was measured."""
    several: bool = False
    """Whether several images or rows were measured as well, or are one loop; if not, the work per call and the work per
    image cannot be told apart."""

    def counts(self, sizes: LoopSizes, isa: Isa) -> Counts:
        """How often they run in a call."""
        return _loops(self.loops)(sizes, isa)


@cache
def _loops(name: str) -> Loops:
    """The function of `file:name`, loaded now."""
    file, _, function = name.partition(":")
    return cast(Loops, getattr(import_module(f"onnxlint_cmsis.cmsis_nn.loops.{file}"), function))


REVERSED = "arm_transpose_conv_wrapper_s8"
"""What stands here for arm_convolve_s8 with reversed weights."""
MEASURED = "7.0.0"
"""First release in which the kernels were measured that came last into this table."""

KERNELS = (
    Kernel("arm_convolve_1x1_s8_fast", "convolve_s8:convolve_1x1_s8_fast", covers=_dense),
    Kernel("arm_convolve_1x1_s8", "convolve_s8:convolve_1x1_s8", covers=_dense),
    Kernel("arm_convolve_s8", "convolve_s8:convolve_s8_widening_taps", NOT_MVE, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", "convolve_s8:convolve_s8_core_4x", MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", "convolve_s8:convolve_s8", NOT_MVE, since="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", "convolve_s8:convolve_s8", MVE_ONLY, since="4.1.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", "convolve_1_x_n_s8:fours", MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel(
        "arm_convolve_1_x_n_s8",
        "convolve_1_x_n_s8:single_columns",
        MVE_ONLY,
        since="4.1.0",
        until="6.0.0",
        covers=_dense,
    ),
    Kernel("arm_convolve_1_x_n_s8", "convolve_1_x_n_s8:strips", MVE_ONLY, since="6.0.0", covers=_dense),
    Kernel("arm_depthwise_conv_3x3_s8", "depthwise_s8:conv_3x3_s8", NOT_MVE),
    Kernel("arm_depthwise_conv_s8_opt", "depthwise_s8:s8_opt", (Isa.DSP, Isa.MVE)),
    Kernel("depthwise_conv_s8_mult_4", "depthwise_s8:s8_mult_4"),
    Kernel("depthwise_conv_s8_generic", "depthwise_s8:s8_generic"),
    Kernel("arm_fully_connected_s8", "fully_connected_s8:fully_connected_s8", NOT_MVE),
    Kernel("arm_fully_connected_s8", "fully_connected_s8:by_three", MVE_ONLY, until="5.0.0"),
    Kernel("arm_fully_connected_s8", "fully_connected_s8:fully_connected_s8", MVE_ONLY, since="5.0.0"),
    Kernel("arm_avgpool_s8", "pools_s8:avgpool_s8", covers=_one_image),
    Kernel("arm_max_pool_s8", "pools_s8:max_pool_s8", covers=_one_image),
    Kernel("arm_elementwise_add_s8", "elementwise:add_s8", several=True),
    Kernel("arm_elementwise_mul_s8", "elementwise:mul_s8", several=True),
    Kernel("arm_softmax_s8", "softmax_s8:softmax_s8", covers=_rows, several=True),
    Kernel(REVERSED, "transpose_conv_s8:reversed_convolution", since=MEASURED, several=True),
    Kernel("arm_transpose_conv_s8", "transpose_conv_s8:direct_by_strides", since=MEASURED, until="main", several=True),
    Kernel("arm_transpose_conv_s8", "transpose_conv_s8:direct", since="main", several=True),
    Kernel("arm_pad_s8", "pad_s8:pad_s8", since=MEASURED, several=True),
    Kernel("arm_transpose_s8", "transpose_s8:transpose_s8", since=MEASURED, covers=_ordered, several=True),
    Kernel("arm_concatenation_s8_[wxyz]", "concatenation_s8:concatenation_s8", covers=_joined, several=True),
    Kernel("arm_batch_matmul_s8", "matrices:batch_matmul_s8", since=MEASURED, several=True),
    Kernel("arm_batch_matmul_s16", "matrices:batch_matmul_s16", since=MEASURED, several=True),
    Kernel("arm_maximum_s8", "elementwise:maximum_s8", since=MEASURED, several=True),
    Kernel("arm_minimum_s8", "elementwise:minimum_s8", since=MEASURED, several=True),
    Kernel("arm_fully_connected_per_channel_s8", "fully_connected_s8:per_channel_s8", since=MEASURED, several=True),
    Kernel("arm_convolve_s16", "convolve_s16:convolve_s16", since=MEASURED, several=True, covers=_dense),
    Kernel("arm_depthwise_conv_s16", "depthwise_s16:s16_generic", since=MEASURED, several=True),
    Kernel("arm_depthwise_conv_fast_s16", "depthwise_s16:s16_fast", (Isa.DSP, Isa.MVE), since=MEASURED, several=True),
    Kernel("arm_fully_connected_s16", "fully_connected_s16:fully_connected_s16", since=MEASURED, several=True),
    Kernel("arm_avgpool_s16", "pools_s16:avgpool_s16", since=MEASURED, covers=_touching, several=True),
    Kernel("arm_max_pool_s16", "pools_s16:max_pool_s16", since=MEASURED, covers=_touching, several=True),
    Kernel("arm_elementwise_add_s16", "elementwise:add_s16", since=MEASURED, several=True),
    Kernel("arm_elementwise_mul_s16", "elementwise:mul_s16", since=MEASURED, several=True),
    Kernel("arm_convolve_1x1_s4_fast", "weights_s4:convolve_1x1_s4_fast", since=MEASURED, several=True, covers=_dense),
    Kernel("arm_convolve_1x1_s4", "weights_s4:convolve_1x1_s4", since=MEASURED, several=True, covers=_dense),
    Kernel(
        "arm_convolve_1_x_n_s4", "weights_s4:convolve_1_x_n_s4", MVE_ONLY, since=MEASURED, several=True, covers=_dense
    ),
    Kernel(
        "arm_convolve_even_s4", "weights_s4:convolve_even_s4", MVE_ONLY, since=MEASURED, several=True, covers=_dense
    ),
    Kernel("arm_convolve_s4", "weights_s4:convolve_s4", since=MEASURED, several=True, covers=_dense),
    Kernel("arm_depthwise_conv_s4", "depthwise_s4:s4_generic", since=MEASURED, several=True),
    Kernel("arm_depthwise_conv_s4_opt", "depthwise_s4:s4_opt", since=MEASURED, several=True),
    Kernel("arm_fully_connected_s4", "weights_s4:fully_connected_s4", since=MEASURED, several=True),
    Kernel("arm_lstm_unidirectional_s8", "recurrent:lstm_s8", since="6.0.0", until="main", several=True),
    Kernel("arm_lstm_unidirectional_s8", "recurrent:lstm_s8_by_sequence", since="main", several=True),
    Kernel("arm_lstm_unidirectional_s16", "recurrent:lstm_s16", since="6.0.0", until="main", several=True),
    Kernel("arm_lstm_unidirectional_s16", "recurrent:lstm_s16_by_sequence", since="main", several=True),
    Kernel("arm_svdf_s8", "recurrent:svdf_s8", since="6.0.0", several=True),
    Kernel("arm_svdf_state_s16_s8", "recurrent:svdf_state_s16", since="6.0.0", several=True),
)
"""No two rows of a kernel share an instruction set and a release."""


@cache
def kernel_of(effective: str, isa: Isa, release: str) -> Kernel | None:
    """The row of a kernel in one build, None where its loops are not known."""
    for row in KERNELS:
        if row.effective == effective and isa in row.isas and holds(row.since, row.until, release):
            return row
    return None
