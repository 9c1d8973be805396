"""Show that two models compute the same: run both in ONNX Runtime and compare outputs and inner tensors."""
