"""TensorFlow Lite files: a checked flatbuffer reader, the file as plain data, and the Graph made from it."""
