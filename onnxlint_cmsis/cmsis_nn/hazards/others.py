"""Entry points without branches: pooling, LSTM, and the contexts a caller must allocate."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.rows import Hazard

HAZARDS: tuple[Hazard, ...] = ()
