"""File formats: `.onnx`, `.tflite`, `.pte` and `.bpte`, each read into one Graph; the first two are edited in place."""
