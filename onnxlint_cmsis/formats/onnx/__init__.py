"""ONNX files: the wire format, external data, functions, constants, shape inference, and the Graph made from them."""
