"""Small `.tflite` files for tests of memory plans, as dicts for `tflite_writer.write`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from support.tflite_models import tensor
from support.tflite_writer import operator_code

NAME = "OfflineMemoryAllocation"


def chain(*sizes: int, **more: Any) -> dict[str, Any]:
    """Sums of neighbours: each operator reads the tensor before, twice, and resizes it by SLICE where sizes differ."""
    tensors = [tensor(f"t{number}", [1, size]) for number, size in enumerate(sizes)]
    buffers: list[dict[str, Any]] = [{}]
    operators = []
    for number, size in enumerate(sizes[1:]):
        constants = []
        for values in ([0, 0], [1, size]):
            constants.append(len(tensors))
            tensors.append(tensor(f"c{len(buffers)}", [2], len(buffers), None, type="INT32"))
            buffers.append({"data": list(struct.pack("<2i", *values))})
        operators.append(
            {"opcode_index": 0, "inputs": [number, *constants], "outputs": [number + 1]}
            if size < sizes[number]
            else {"opcode_index": 1, "inputs": [number, number], "outputs": [number + 1]}
            if size == sizes[number]
            else {
                "opcode_index": 2,
                "inputs": [number] * (size // sizes[number]),
                "outputs": [number + 1],
                "builtin_options": ("ConcatenationOptions", {"axis": 1}),
            }
        )
    subgraph = {"tensors": tensors, "inputs": [0], "outputs": [len(sizes) - 1], "operators": operators}
    codes = [operator_code(op) for op in ("SLICE", "ADD", "CONCATENATION")]
    return {"version": 3, "operator_codes": codes, "subgraphs": [subgraph], "buffers": buffers, **more}


WASTING = (512, 512, 1536, 4608, 4608, 2304, 4608, 4608)
"""Sizes of a chain of which TensorFlow Lite Micro's planner takes more than is alive at once."""
FITTING = (512, 0, 4608, 0, 4608, 0, 4608, 0)
"""Offsets of its tensors that take no more."""
LEAST = (0, 0, 4608, 0, 0, 4608, 0, 0)
"""The same where sums lie on what they add."""


def with_plan(model: dict[str, Any], offsets: Sequence[int], *, missing: int = 0, cut: int = 0) -> dict[str, Any]:
    """A model that brings a plan along for its first tensors; the others are the interpreter's.

    `missing` offsets are left out and not counted; `cut` bytes are missing at the end.
    """
    tensors = sum(len(subgraph["tensors"]) for subgraph in model["subgraphs"]) - missing
    every = [*offsets, *[-1] * tensors][:tensors]
    data = struct.pack(f"<3I{tensors}i", 1, len(model["subgraphs"]), tensors, *every)
    buffers = [*model["buffers"], {"data": list(data[: len(data) - cut])}]
    return {**model, "buffers": buffers, "metadata": [{"name": NAME, "buffer": len(buffers) - 1}]}
