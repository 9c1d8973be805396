"""Subgraphs are nested deeper than protobuf reads.

Protobuf refuses messages nested more than 100 deep, and each ONNX subgraph costs three levels. Such a file can be
loaded by no tool that uses protobuf. The exit code is 2.

**What to do.** Flatten the control flow before exporting.
"""
