"""Less arena for a `.tflite` file: channels in groups, rows in bands, and a memory plan that it brings along."""
