"""File formats: `.onnx`, `.tflite` and `.pte`, each read into one Graph; the first two are edited in place."""
