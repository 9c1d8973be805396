"""Outputs of `.tflite` files on random inputs, from LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxlint_cmsis.fixers.proof.litert import LiteRtModel
from onnxlint_cmsis.formats.tflite.read import read_tflite


def feeds(data: bytes, count: int, seed: int = 0) -> Iterator[dict[int, np.ndarray]]:
    model, rng = read_tflite("m.tflite", data), np.random.default_rng(seed)
    for _ in range(count):
        inputs = [(index, model.subgraphs[0].tensors[index]) for index in model.subgraphs[0].inputs]
        limits = {index: np.iinfo(tensor.elem_type.lower()) for index, tensor in inputs}
        yield {
            index: rng.integers(limits[index].min, limits[index].max + 1, tensor.shape).astype(tensor.elem_type.lower())
            for index, tensor in inputs
        }


def outputs(old: bytes, new: bytes, count: int) -> list[list[np.ndarray]]:
    """Outputs of a file on inputs of an older one, from LiteRT's reference kernels."""
    process = LiteRtModel()
    process.load(new, 1)
    ends = read_tflite("m.tflite", new).subgraphs[0].outputs
    return [process.run(feed, ends) for feed in feeds(old, count)]
