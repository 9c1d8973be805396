"""`.tflite` files as firmware: the calls that TensorFlow Lite Micro makes, held against LiteRT."""
