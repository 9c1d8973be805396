"""The first and last layers around an operator under test."""

from __future__ import annotations

from support.dims_graphs import Builder


def stem(channels: int = 6, opset: int = 17, size: int = 4) -> tuple[Builder, str]:
    """A model that starts with a convolution `stem` from 3 to that many channels."""
    build = Builder(opset)
    return build, build.conv(build.input("x", 1, 3, size, size), 3, channels, name="stem")


def dense(channels: int = 6, opset: int = 17) -> tuple[Builder, str]:
    """A model that starts with a dense layer `stem` of that many outputs."""
    build = Builder(opset)
    return build, build.op("Gemm", build.input("x", 2, 3), build.weights(3, channels), name="stem")


def head(build: Builder, data: str, channels: int = 6) -> str:
    return build.conv(data, channels, 2, name="head")


def last(build: Builder, data: str, channels: int = 6) -> str:
    return build.op("MatMul", data, build.weights(channels, 2), name="head")
