"""File formats: `.onnx` and `.tflite`, each read into one Graph and edited in place."""
