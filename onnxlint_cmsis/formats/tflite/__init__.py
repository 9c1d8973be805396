"""TensorFlow Lite files: a checked flatbuffer reader, the file as plain data, and the Graph made from it.

The `flatbuffers` package reads without checking a single offset, so a damaged file gives wrong values or an endless
vector. `flat_file` checks every read against the file instead, and needs no package at all.
"""
