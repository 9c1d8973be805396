"""Measured pairs behind the routing checks; made by lab/measure_evidence.py, see near_by.py."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.rows import Evidence

EVIDENCE: tuple[Evidence, ...] = (
    Evidence("conv-1xn", "convolve_s8", "main", "mve", True, 38, 38, -19.4, -3.6),
    Evidence("conv-1xn", "convolve_s8", "4.1.0", "mve", True, 38, 38, -19.6, -6.6),
    Evidence("conv-1xn", "convolve_s8", "5.0.0", "mve", True, 38, 38, -19.6, -6.6),
    Evidence("conv-1xn", "convolve_s8", "6.0.0", "mve", True, 38, 38, -19.6, -5.4),
    Evidence("conv-1xn", "convolve_s8", "7.0.0", "mve", True, 38, 38, -19.4, -3.6),
    Evidence("conv-1xn", "convolve_s8", "main", "mve", False, 48, 32, -10.7, 43.3),
    Evidence("conv-1xn", "convolve_s8", "4.1.0", "mve", False, 48, 39, -13.0, 31.3),
    Evidence("conv-1xn", "convolve_s8", "5.0.0", "mve", False, 48, 39, -13.0, 31.3),
    Evidence("conv-1xn", "convolve_s8", "6.0.0", "mve", False, 48, 34, -12.2, 41.6),
    Evidence("conv-1xn", "convolve_s8", "7.0.0", "mve", False, 48, 32, -10.7, 43.1),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "main", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "main", "mve", True, 132, 132, -56.7, -37.1),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "main", "scalar", True, 176, 176, -36.0, -1.2),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.0.0", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.0.0", "mve", True, 176, 176, -55.5, -28.8),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.0.0", "scalar", True, 176, 176, -36.0, -1.2),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.1.0", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.1.0", "mve", True, 176, 176, -55.5, -28.8),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "4.1.0", "scalar", True, 176, 176, -36.0, -1.2),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "5.0.0", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "5.0.0", "mve", True, 176, 176, -55.5, -28.8),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "5.0.0", "scalar", True, 176, 176, -36.0, -1.2),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "6.0.0", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "6.0.0", "mve", True, 176, 176, -55.5, -28.8),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "6.0.0", "scalar", True, 176, 176, -36.0, -1.2),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "7.0.0", "dsp", True, 176, 176, -36.9, -2.3),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "7.0.0", "mve", True, 132, 132, -56.7, -37.1),
    Evidence("depthwise-multiplier-tile", "depthwise_s8", "7.0.0", "scalar", True, 176, 176, -36.0, -1.2),
)
