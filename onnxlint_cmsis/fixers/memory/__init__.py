"""Less arena for a `.tflite` file: channels in groups, and a memory plan that it brings along."""
