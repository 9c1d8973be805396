"""Fully connected layer of 8-bit weights and 16-bit activations."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.routes.legacy.dense_rows import dense
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import DENSE_Q7Q15

_LINES = ((117, 117, 116, 116), (69, 69, 68, 68))

WRAPPER = dense("fully_connected_q7q15", "arm_fully_connected_mat_q7_vec_q15", _LINES, DENSE_Q7Q15)
