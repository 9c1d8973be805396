"""Proves on emulated Cortex-M firmware what onnxlint_cmsis predicts: kernels, scratch, instructions, outputs."""
