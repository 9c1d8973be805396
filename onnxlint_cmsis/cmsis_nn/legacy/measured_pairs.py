"""Pairs of q7 and q15 layers measured before and after a pad; written by lab/measure_legacy.py."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.rows import Evidence

LEGACY_EVIDENCE: tuple[Evidence, ...] = (
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.7.0", "dsp", True, 63, 63, -23.7, -7.6),
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.7.0", "dsp", False, 36, 23, -4.6, 64.3),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.7.0", "dsp", True, 33, 33, -36.3, -26.4),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.7.0", "dsp", False, 12, 12, -19.3, -2.2),
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.8.0", "dsp", True, 63, 63, -15.6, -4.6),
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.8.0", "dsp", False, 36, 16, 2.6, 70.8),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.8.0", "dsp", True, 33, 33, -36.3, -26.4),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.8.0", "dsp", False, 12, 12, -19.3, -2.2),
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.9.0", "dsp", True, 63, 63, -12.5, -2.7),
    Evidence("conv-legacy-fast", "convolve_q7", "cmsis5-5.9.0", "dsp", False, 36, 6, 6.7, 74.4),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.9.0", "dsp", True, 33, 33, -36.3, -25.6),
    Evidence("conv-legacy-fast", "convolve_q15", "cmsis5-5.9.0", "dsp", False, 12, 12, -19.3, -2.2),
)
