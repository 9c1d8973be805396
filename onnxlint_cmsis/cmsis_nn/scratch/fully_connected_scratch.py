"""Scratch sizes of the fully connected layer: the kernel sums that MVE wants from 5.0.0 on."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.names import FILTER_C
from onnxlint_cmsis.cmsis_nn.releases import V5_8
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY
from onnxlint_cmsis.cmsis_nn.scratch.scratch_rows import size, within

_SIZE = "arm_fully_connected_s8_get_buffer_size"

FULLY_CONNECTED_S8 = (size(4 * FILTER_C, within(_SIZE, "5.0.0", MVE_ONLY)), size(0, within(_SIZE, V5_8)))
