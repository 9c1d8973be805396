"""onnxlint-cmsis: what CMSIS-NN will do with an ONNX model on a Cortex-M, said before flashing."""

__version__ = "0.1.0"
