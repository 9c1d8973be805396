"""Fully connected layer of 16 bits."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.routes.legacy.dense_rows import dense
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import DENSE_Q15

WRAPPER = dense("fully_connected_q15", "arm_fully_connected_q15", ((97, 97, 96, 96), (66, 66, 65, 65)), DENSE_Q15)
