"""Reads ONNX files; the only package that touches protobufs."""
