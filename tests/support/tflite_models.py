"""Small `.tflite` models for tests, as dicts for `tflite_writer.write`."""

from __future__ import annotations

from typing import Any

from support.tflite_writer import operator_code


def tensor(
    name: str, shape: list[int], buffer: int = 0, scale: tuple[float, ...] | None = (0.5,), **more: Any
) -> dict[str, Any]:
    """An int8 tensor with zero-points 0."""
    quantization = {"scale": list(scale), "zero_point": [0] * len(scale)} if scale else None
    return {"name": name, "shape": shape, "type": "INT8", "buffer": buffer, "quantization": quantization, **more}


def conv_model(**changes: Any) -> dict[str, Any]:
    """One convolution with per-channel weights, a signature and a metadata entry."""
    weights = tensor("w", [4, 1, 1, 8], buffer=1, scale=(0.1, 0.2, 0.3, 0.4))
    weights["quantization"]["quantized_dimension"] = 0
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 1, "fused_activation_function": "RELU6"}
    subgraph = {
        "name": "main",
        "tensors": [tensor("x", [1, 5, 5, 8], shape_signature=[-1, 5, 5, 8]), weights, tensor("y", [1, 5, 3, 4])],
        "inputs": [0],
        "outputs": [2],
        "operators": [
            {"opcode_index": 0, "inputs": [0, 1, -1], "outputs": [2], "builtin_options": ("Conv2DOptions", options)}
        ],
    }
    model = {
        "version": 3,
        "operator_codes": [operator_code("CONV_2D", 3)],
        "subgraphs": [subgraph],
        "description": "test",
        "buffers": [{}, {"data": list(range(32))}, {"data": list(b"1.5.0")}],
        "metadata": [{"name": "min_runtime_version", "buffer": 2}],
        "signature_defs": [{"signature_key": "serving", "inputs": [{"name": "x", "tensor_index": 0}]}],
    }
    return {**model, **changes}


def one_operator(
    op: str, tensors: list[dict[str, Any]], options: tuple[str, dict[str, Any]] | None = None, **more: Any
):
    """A model of one operator that reads all tensors but the last, which it writes; constants have a buffer."""
    count = len(tensors) - 1
    operator = {
        "opcode_index": 0,
        "inputs": list(range(count)),
        "outputs": [count],
        "builtin_options": options,
    }
    free = [index for index in range(count) if not tensors[index]["buffer"]]
    subgraph = {"tensors": tensors, "inputs": free, "outputs": [count], "operators": [operator]}
    return {"version": 3, "operator_codes": [operator_code(op)], "subgraphs": [subgraph], "buffers": [{}], **more}


def streaming_model(**changes: Any) -> dict[str, Any]:
    """A model that keeps 16 bytes between runs; the first run alone fills them, by a convolution in subgraph 1."""
    handle = {"name": "row", "shape": [], "type": "RESOURCE", "buffer": 0}
    names = {"container": "", "shared_name": "row"}
    variable = {"opcode_index": 1, "outputs": [0], "builtin_options": ("VarHandleOptions", names)}
    main = {
        "name": "main",
        "tensors": [handle, tensor("x", [1, 1, 1, 16]), tensor("kept", [1, 1, 1, 16]), tensor("y", [1, 1, 1, 16])],
        "inputs": [1],
        "outputs": [3],
        "operators": [
            {"opcode_index": 0, "builtin_options": ("CallOnceOptions", {"init_subgraph_index": 1})},
            variable,
            {"opcode_index": 2, "inputs": [0], "outputs": [2]},
            {"opcode_index": 4, "inputs": [1, 2], "outputs": [3], "builtin_options": ("AddOptions", {})},
            {"opcode_index": 3, "inputs": [0, 3]},
        ],
    }
    convolution = ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    first = {
        "name": "first run",
        "tensors": [
            handle,
            tensor("x", [1, 1, 1, 8], buffer=1),
            tensor("w", [16, 1, 1, 8], buffer=2),
            tensor("y", [1, 1, 1, 16]),
        ],
        "inputs": [],
        "outputs": [],
        "operators": [
            variable,
            {"opcode_index": 5, "inputs": [1, 2], "outputs": [3], "builtin_options": convolution},
            {"opcode_index": 3, "inputs": [0, 3]},
        ],
    }
    operators = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "ADD", "CONV_2D")
    model = {
        "version": 3,
        "operator_codes": [operator_code(op) for op in operators],
        "subgraphs": [main, first],
        "buffers": [{}, {"data": [1] * 8}, {"data": [1] * 128}],
    }
    return {**model, **changes}


def decoding_model(*heads: tuple[int, int]) -> dict[str, Any]:
    """A sum of x and 16 constants for each pair of kind and version, which TFLM_DECODE unpacks for two channels."""
    tensors = [tensor("x", [2, 8])]
    buffers: list[dict[str, Any]] = [{}]
    operators, source = [], 0
    for kind, version in heads:
        buffers += [{"data": [0x10] * 8}, {"data": [kind, version, 0, 0, 1, 4, 2, 0, *[0] * 8, 1, 2, 3, 4, *[0] * 64]}]
        packed = [
            {"name": name, "shape": [size], "type": "UINT8", "buffer": len(buffers) - from_end}
            for name, size, from_end in ((f"codes{len(operators)}", 8, 2), (f"table{len(operators)}", 84, 1))
        ]
        scales = {"scale": [0.5, 0.25], "zero_point": [1, 2], "quantized_dimension": 0}
        first = len(tensors)
        tensors += [
            *packed,
            {**tensor(f"w{first}", [2, 8]), "quantization": scales},
            tensor(f"y{first}", [2, 8]),
        ]
        operators += [
            {"opcode_index": 0, "inputs": [first, first + 1], "outputs": [first + 2]},
            {
                "opcode_index": 1,
                "inputs": [source, first + 2],
                "outputs": [first + 3],
                "builtin_options": ("AddOptions", {}),
            },
        ]
        source = first + 3
    subgraph = {"tensors": tensors, "inputs": [0], "outputs": [source], "operators": operators}
    decode = operator_code("CUSTOM", custom_code="TFLM_DECODE")
    return {
        "version": 3,
        "operator_codes": [decode, operator_code("ADD")],
        "subgraphs": [subgraph],
        "buffers": buffers,
    }
