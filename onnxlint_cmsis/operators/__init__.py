"""One record per ONNX operator: what it is, without CMSIS-NN and without a file format."""
