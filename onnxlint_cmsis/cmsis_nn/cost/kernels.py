"""Which loops a kernel has: one row for each kernel, instruction set and run of releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from onnxlint_cmsis.cmsis_nn.cost import convolution_cost as convolution
from onnxlint_cmsis.cmsis_nn.cost import dense_cost as dense
from onnxlint_cmsis.cmsis_nn.cost import depthwise_cost as depthwise
from onnxlint_cmsis.cmsis_nn.cost import elementwise_cost as elementwise
from onnxlint_cmsis.cmsis_nn.cost import one_by_n_cost as one_by_n
from onnxlint_cmsis.cmsis_nn.cost import pooling_cost as pooling
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Isa

Loops = Callable[[LoopSizes, Isa], Counts]
"""Counts how often the loops of a kernel run."""


def _any(_: LoopSizes) -> bool:
    return True


def _dense(sizes: LoopSizes) -> bool:
    """Grouped convolutions run another product."""
    return sizes.filter_c == sizes.in_c


def _columns(sizes: LoopSizes) -> bool:
    """Of 2 or 3 columns the loops say 3 to 31 % too little: 40 calls each on Cortex-M3 and M4, 7.0.0."""
    columns = sizes.filter_h * sizes.filter_w * sizes.in_c
    return _dense(sizes) & (columns != 2) & (columns != 3)


def _undilated(sizes: LoopSizes) -> bool:
    """arm_depthwise_conv_s8 finds the taps of a dilated window with divisions."""
    return sizes.dilation_h == sizes.dilation_w == 1


def _one_image(sizes: LoopSizes) -> bool:
    """Pooling goes over the images from 6.0.0 on only, and copies the first tap of a window: there has to be one."""
    below, beside = (sizes.out_h - 1) * sizes.stride_h - sizes.pad_h, (sizes.out_w - 1) * sizes.stride_w - sizes.pad_w
    touches = sizes.pad_h < sizes.filter_h and sizes.pad_w < sizes.filter_w
    return sizes.n == 1 and touches and below < sizes.in_h and beside < sizes.in_w


def _one_unpadded_image(sizes: LoopSizes) -> bool:
    """arm_avgpool_s8 on scalar looks at every tap and skips those in the padding."""
    return sizes.n == 1 and sizes.plane.inside == sizes.pixels * sizes.taps


def _rows(sizes: LoopSizes) -> bool:
    """arm_softmax_s8 works on rows: the layer has no plane."""
    return sizes.in_h == sizes.in_w == 1


class Kernel(NamedTuple):
    """The loops of one function that does the work of a layer."""

    effective: str
    """C function, as a route names it."""
    loops: Loops
    """How often they run."""
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


KERNELS = (
    Kernel("arm_convolve_1x1_s8_fast", convolution.convolve_1x1_s8_fast, covers=_dense),
    Kernel("arm_convolve_1x1_s8", convolution.convolve_1x1_s8, covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8_widening_taps, NOT_MVE, until="4.1.0", covers=_columns),
    Kernel("arm_convolve_s8", convolution.convolve_s8_core_4x, MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_s8", convolution.convolve_s8, NOT_MVE, since="4.1.0", covers=_columns),
    Kernel("arm_convolve_s8", convolution.convolve_s8, MVE_ONLY, since="4.1.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", one_by_n.fours, MVE_ONLY, until="4.1.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", one_by_n.single_columns, MVE_ONLY, since="4.1.0", until="6.0.0", covers=_dense),
    Kernel("arm_convolve_1_x_n_s8", one_by_n.strips, MVE_ONLY, since="6.0.0", covers=_dense),
    Kernel("arm_depthwise_conv_3x3_s8", depthwise.conv_3x3_s8, NOT_MVE),
    Kernel("arm_depthwise_conv_s8_opt", depthwise.s8_opt, (Isa.DSP, Isa.MVE)),
    Kernel("depthwise_conv_s8_mult_4", depthwise.s8_mult_4),
    Kernel("depthwise_conv_s8_generic", depthwise.s8_generic, covers=_undilated),
    Kernel("arm_fully_connected_s8", dense.fully_connected_s8, NOT_MVE),
    Kernel("arm_fully_connected_s8", dense.by_three, MVE_ONLY, until="5.0.0"),
    Kernel("arm_fully_connected_s8", dense.fully_connected_s8, MVE_ONLY, since="5.0.0"),
    Kernel("arm_avgpool_s8", pooling.avgpool_s8, (Isa.DSP, Isa.MVE), covers=_one_image),
    Kernel("arm_avgpool_s8", pooling.avgpool_s8, (Isa.SCALAR,), covers=_one_unpadded_image),
    Kernel("arm_max_pool_s8", pooling.max_pool_s8, covers=_one_image),
    Kernel("arm_elementwise_add_s8", elementwise.add_s8, several=True),
    Kernel("arm_elementwise_mul_s8", elementwise.mul_s8, several=True),
    Kernel("arm_softmax_s8", elementwise.softmax_s8, covers=_rows, several=True),
)
"""No two rows of a kernel share an instruction set and a release."""


@cache
def kernel_of(effective: str, isa: Isa, release: str) -> Kernel | None:
    """The row of a kernel in one build, None where its loops are not known."""
    for row in KERNELS:
        if row.effective == effective and isa in row.isas and holds(row.since, row.until, release):
            return row
    return None
