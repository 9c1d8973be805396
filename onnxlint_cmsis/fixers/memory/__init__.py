"""Less arena for a `.tflite` file: a memory plan that it brings along."""
