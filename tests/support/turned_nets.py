"""A `.tflite` net with its rows as columns and its columns as rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.expanding_nets import CODES

TURNED = [0, 2, 1, 3]


def turned(model: dict[str, Any]) -> dict[str, Any]:
    """The model, whose dict is changed; constants of rank 4 are weights of int8."""
    (main,), buffers = model["subgraphs"], model["buffers"]
    for tensor in main["tensors"]:
        shape, data = tensor["shape"], buffers[tensor["buffer"]].get("data")
        if len(shape) == 4:
            tensor["shape"] = [shape[axis] for axis in TURNED]
            if data:
                values = np.array(data, "u1").reshape(shape).transpose(TURNED)
                buffers[tensor["buffer"]]["data"] = values.reshape(-1).tolist()
    for operator in main["operators"]:
        op, (table, options) = CODES[operator["opcode_index"]], operator["builtin_options"]
        operator["builtin_options"] = table, {_other_side(name): value for name, value in options.items()}
        if op in ("GATHER", "CONCATENATION"):
            operator["builtin_options"] = table, {"axis": TURNED[options["axis"]]}
        lists = {"PAD": [1], "PADV2": [1], "SLICE": [1, 2]}.get(op, [])
        for number in {operator["inputs"][position] for position in lists}:
            buffer = buffers[main["tensors"][number]["buffer"]]
            rows = np.array(buffer["data"], "u1").reshape(4, -1)
            buffer["data"] = rows[TURNED].reshape(-1).tolist()
    return model


def _other_side(option: str) -> str:
    pairs = ("stride_h", "stride_w"), ("filter_height", "filter_width"), ("dilation_h_factor", "dilation_w_factor")
    sides = {name: other for pair in pairs for name, other in (pair, pair[::-1])}
    return sides.get(option, option)
