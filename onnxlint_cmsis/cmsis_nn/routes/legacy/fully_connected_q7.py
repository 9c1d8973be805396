"""Fully connected layer of 8 bits."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.routes.legacy.dense_rows import dense
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import DENSE_Q7

WRAPPER = dense("fully_connected_q7", "arm_fully_connected_q7", ((129, 129, 128, 128), (68, 68, 67, 67)), DENSE_Q7)
