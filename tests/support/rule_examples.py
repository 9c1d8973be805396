"""Examples of rules as files, and what linting says of them."""

from __future__ import annotations

import contextlib
import io
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from onnxlint_cmsis.checks.rule import Example
from onnxlint_cmsis.cli.main import main
from support.elf_writer import Function
from support.firmware_images import (
    APPLICATION,
    FLASH,
    M55,
    MODEL,
    REGISTER_CONV,
    REGISTER_SOFTMAX,
    firmware,
    registering,
    with_library,
    with_tensors,
)
from support.models import text
from support.planned_models import FITTING, LEAST, WASTING, chain, with_plan
from support.pte_writer import PteWriter
from support.tflite_models import one_operator, tensor
from support.tflite_writer import operator_code, write

HEADER = '<ir_version: 10, opset_import: ["" : 13]>\n'


def _sized(op: str, *shapes: list[int], **changes: Any) -> bytes:
    """A .tflite file of one operator that reads tensors of all shapes but the last, which it writes."""
    tensors = [tensor(name, shape) for name, shape in zip("abcdef", shapes, strict=False)]
    return write(one_operator(op, tensors, **changes))


def _product(version: int) -> bytes:
    return _sized("MUL", *[[1, 8]] * 3, operator_codes=[operator_code("MUL", version)])


def _comparison(channels: int) -> bytes:
    a, b, y = (tensor(name, [1, 1, 4, 4, size]) for name, size in (("a", 8), ("b", channels), ("y", 8)))
    return write(one_operator("LESS", [a, b, {**y, "type": "BOOL", "quantization": None}]))


def _blocks(padding: int, zero_point: int, *result: int) -> bytes:
    """SPACE_TO_BATCH_ND in blocks of 2 by 2."""
    data, output = tensor("x", [1, 4, 4, 1]), tensor("y", [*result])
    for activation in (data, output):
        activation["quantization"]["zero_point"] = [zero_point]
    numbers = [("b", [2], [2, 2], 1), ("p", [2, 2], [padding] * 4, 2)]
    constants = [tensor(name, shape, buffer, None, type="INT32") for name, shape, _, buffer in numbers]
    buffers = [{}, *({"data": list(struct.pack(f"<{len(values)}i", *values))} for _, _, values, _ in numbers)]
    return write(one_operator("SPACE_TO_BATCH_ND", [data, *constants, output], buffers=buffers))


def _max_pool(stride: int) -> bytes:
    window = {"padding": "VALID", "stride_w": stride, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    return _sized("MAX_POOL_2D", [1, 4, 4, 8], [1, 2, 2, 8], options=("Pool2DOptions", window))


def _int16_convolution(bias: str, width: int) -> bytes:
    """A 1x1 convolution of 1,152 channels to one."""
    x, w, b, y = (
        tensor("x", [1, 1, width, 1152], type="INT16"),
        tensor("w", [1, 1, 1, 1152], buffer=1),
        tensor("b", [1], buffer=2, type=bias),
        tensor("y", [1, 1, width, 1], type="INT16"),
    )
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    buffers: list[dict[str, Any]] = [{}, {"data": [127] * 1152}, {"data": [0] * (4 if bias == "INT32" else 8)}]
    return write(one_operator("CONV_2D", [x, w, b, y], ("Conv2DOptions", options), buffers=buffers))


def _planned_average_pool() -> bytes:
    program = PteWriter()
    source, scratch = program.image(1, 16, 4, 4), program.tensor("uint8", (0,))
    window = ([4, 4], [4, 4], [0, 0], False, 0, 0, 0)
    result = program.image(1, 16, 1, 1)
    program.call("cortex_m::quantized_avg_pool2d.out", (source,), *window, (scratch,), out=result)
    return _finished(program, source, result)


def _planned_dense_layer() -> bytes:
    program = PteWriter()
    source = program.tensor("int8", (1, 4))
    return _finished(program, source, program.linear(source, 4, 2, sums=[4 * 128 + 7, 4 * 128 - 7]))


def _planned_depthwise_layer() -> bytes:
    program = PteWriter()
    sizes = (1, 64, 25, 5)
    source = program.image(*sizes)
    return _finished(program, source, program.depthwise(source, sizes, sizes, 1, 128))


def _planned_convolution() -> bytes:
    program = PteWriter()
    source, weights = program.image(1, 4, 1, 8), program.constant([[[[1] * 4] * 3]] * 4)
    numbers = [(program.constant([value] * 4, "int32"),) for value in (1 << 30, -7)]
    scratch, result = program.tensor("uint8", (12,)), program.image(1, 4, 1, 6)
    window = (None, [1, 1], [0, 0], [1, 1], 0, 0, *numbers, -128, 127)
    program.call("cortex_m::quantized_conv2d.out", (source,), (weights,), *window, (scratch,), out=result)
    return _finished(program, source, result)


def _convolution_of(arguments: int) -> bytes:
    program = PteWriter()
    sizes = (1, 4, 8, 8)
    source = program.image(*sizes)
    result = program.convolution(source, sizes, sizes, 1, 0 if arguments == 13 else None)
    return _finished(program, source, result)


def _relu(dynamism: str) -> bytes:
    program = PteWriter()
    source, result = (program.tensor("int8", (1, 8), shape_dynamism=dynamism) for _ in range(2))
    return _finished(program, source, program.call("aten::relu.out", (source,), out=result))


def _delegated() -> bytes:
    program = PteWriter()
    source, result = program.image(1, 4, 2, 2), program.image(1, 4, 2, 2)
    return _finished(program, source, program.delegate("EthosUBackend", source, result))


def _finished(program: PteWriter, source: int, result: int) -> bytes:
    program.inputs, program.outputs = [source], [result]
    return program.data()


M4_IMAGE = "an image for a Cortex-M4"
SLOW = {"arm_nn_mat_mult_nt_t_s8": Function(4000, frame=3280, smlad=16, dsp=32)}
COPYING = {"memcpy": Function(8), "arm_nn_mat_mult_nt_t_s8": Function(200, smlad=16, dsp=32, calls={"memcpy": 8})}
VECTORS = {"arm_nn_mat_mult_nt_t_s8": Function(200, mve=16)}
IMAGES: Mapping[str, Callable[[], bytes]] = {
    M4_IMAGE: firmware,
    f"{M4_IMAGE} with CMSIS-NN at -O0": lambda: firmware(with_library(**SLOW)),
    f"{M4_IMAGE} without CMSIS-NN": lambda: firmware(APPLICATION),
    f"{M4_IMAGE} with CMSIS-NN by -fno-builtin": lambda: firmware(with_library(**COPYING)),
    "an image for a Cortex-M55 with CMSIS-NN for a Cortex-M33": lambda: firmware(core=M55),
    "an image for a Cortex-M55": lambda: firmware(with_library(**VECTORS), core=M55),
    f"{M4_IMAGE} with an arena of 256 bytes": lambda: firmware(arena=256),
    f"{M4_IMAGE} that registers no CONV_2D": lambda: firmware(registering()),
    f"{M4_IMAGE} that registers SOFTMAX too": lambda: firmware(registering(REGISTER_CONV, REGISTER_SOFTMAX)),
    f"{M4_IMAGE} with its model at an odd address": lambda: firmware(model_at=FLASH + 0x8001),
    f"{M4_IMAGE} with TfLiteTensor of 64 bytes in main.cc": lambda: with_tensors(64),
    f"{M4_IMAGE} with TfLiteTensor of 32 bytes in all files": lambda: with_tensors(32),
    "the model of the image": lambda: MODEL,
    "another model than that of the image": lambda: _product(2),
}
"""The same for firmware; the one that an option names is the first."""
FILES: Mapping[str, Callable[[], bytes]] = {
    **IMAGES,
    "a .tflite file with one operator: y = POW(a, b)": lambda: _sized("POW", *[[1, 8]] * 3),
    "a chain of sums of 512 to 4,608 bytes": lambda: write(chain(*WASTING)),
    "a chain of sums with the memory plan that takes least": lambda: write(with_plan(chain(*WASTING), LEAST)),
    "a chain of sums with a memory plan that fits": lambda: write(with_plan(chain(*WASTING), FITTING)),
    "a chain of sums with a memory plan that puts all of it at 0": lambda: write(with_plan(chain(*WASTING), [0] * 8)),
    "a chain of sums with a memory plan for fewer tensors": lambda: write(
        with_plan(chain(*WASTING), FITTING, missing=1)
    ),
    "a .tflite file with one operator: y = MUL(a, b)": lambda: _product(2),
    "a .tflite file with one operator: y = MUL(a, b), of version 2": lambda: _product(2),
    "SPACE_TO_BATCH_ND in blocks of [2, 2], [1, 4, 4, 1] to [1, 2, 2, 1]": lambda: _blocks(0, 0, 1, 2, 2, 1),
    "SPACE_TO_BATCH_ND in blocks of [2, 2], [1, 4, 4, 1] to [4, 2, 2, 1]": lambda: _blocks(0, 0, 4, 2, 2, 1),
    "SPACE_TO_BATCH_ND with paddings of 1 and zero-point -128": lambda: _blocks(1, -128, 4, 3, 3, 1),
    "SPACE_TO_BATCH_ND with paddings of 1 and zero-point 0": lambda: _blocks(1, 0, 4, 3, 3, 1),
    "a .tflite file with one operator: y = MUL(a, b), of version 201": lambda: _product(201),
    "a .tflite file with one operator: y = LESS(a, b) of [1, 1, 4, 4, 8] and [1, 1, 4, 4, 1]": lambda: _comparison(1),
    "a .tflite file with one operator: y = LESS(a, b) of [1, 1, 4, 4, 8] both": lambda: _comparison(8),
    "a .tflite file with one operator: y = MAX_POOL_2D(x), stride_w 0": lambda: _max_pool(0),
    "a .tflite file with one operator: y = MAX_POOL_2D(x), stride_w 2": lambda: _max_pool(2),
    "an int16 convolution of 1,152 weights of 127, with an int32 bias": lambda: _int16_convolution("INT32", 4),
    "the same with an int64 bias, and an even number of output pixels": lambda: _int16_convolution("INT64", 4),
    "one average pool, planned for MVE": _planned_average_pool,
    "one dense layer, planned for MVE": _planned_dense_layer,
    "one depthwise layer of 1x1x64, planned for DSP": _planned_depthwise_layer,
    "one convolution over a row, planned for MVE": _planned_convolution,
    "one convolution of 12 arguments": lambda: _convolution_of(12),
    "one convolution of 13 arguments": lambda: _convolution_of(13),
    "one ReLU of a tensor without largest sizes (DYNAMIC_UNBOUND)": lambda: _relu("DYNAMIC_UNBOUND"),
    "one ReLU of a tensor of 1x8": lambda: _relu("STATIC"),
    "a program that hands all to the delegate EthosUBackend": _delegated,
}
"""Bytes of the files that examples describe, by what the documentation shows of them."""


def codes_and_levels(example: Example, folder: Path) -> set[tuple[str, str]]:
    """Lint an example in an empty folder; code and level of each finding."""
    return {(finding["code"], finding["level"]) for finding in findings_of(example, folder)}


def selectors(example: Example, folder: Path) -> set[str]:
    """Lint an example in an empty folder; the code of each finding, with its cause where it has one."""
    findings = findings_of(example, folder)
    return {f"{finding['code']}[{finding['cause']}]" if finding["cause"] else finding["code"] for finding in findings}


def findings_of(example: Example, folder: Path) -> list[dict[str, str]]:
    """Lint an example in an empty folder; its findings as in the JSON report."""
    model = folder / example.name
    if isinstance(example.model, bytes):
        model.write_bytes(example.model)
    elif example.model is not None:
        source = example.model.strip()
        model.write_bytes(text(source if source.startswith("<") else HEADER + source).SerializeToString())
    elif example.shown:
        model.write_bytes(FILES[example.shown]())
    for name, content in example.files.items():
        (folder / name).write_text(content, encoding="utf-8")
    options = example.options.split()
    for option in {"--baseline", "--firmware"} & {*options}:
        position = options.index(option) + 1
        options[position] = str(folder / options[position])
        if option == "--firmware":
            Path(options[position]).write_bytes(firmware())
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["--isolated", "--output-format", "json", *options, str(model)])
    findings: list[dict[str, str]] = json.loads(out.getvalue())["findings"]
    return findings
