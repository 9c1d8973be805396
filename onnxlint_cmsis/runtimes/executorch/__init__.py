"""What ExecuTorch does with programs, and with layers of ONNX models."""
