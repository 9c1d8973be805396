"""Changes of a file as data, and the writers that put them into `.onnx` and `.tflite` bytes."""
