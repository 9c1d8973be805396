"""One small function per ONNX operator: what it ties, what it locks and why."""
