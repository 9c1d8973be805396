"""int16 layers of which sums leave 32 bits.

Measured with releases 4.0.0 to main under QEMU on Cortex-M3, M4 and M55: 1,152 products of 127 and 32767, times 2^-18,
give 1903 in 32 bits and 18287 in 64; 517 give -8177 for 8207, and 516 are right.
"""

from __future__ import annotations

import struct

import pytest

from onnxlint_cmsis.cmsis_nn.library import ALL_PRODUCTS, SHORT, adds_in_blocks, cost, products_in_32_bits
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.ground.types import Dims, KernelCall, Level
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild, build_for
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator
from support import paths
from support.linter import linted
from support.targets import target_of
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

M3, M4, M55 = (target_of(f"cortex-{core}", "main") for core in ("m3", "m4", "m55"))
REPORTS = paths.SHARED / "cases" / "reports"
BIAS_FORMATS = {"INT32": "i", "INT64": "q"}
UP = 2**31 - 1 - 516 * 127 * 32767
"""What may be added to 516 products of 127 and 32767 until 32 bits are full."""
DOWN = 516 * 127 * 32768 - 2**31
"""The same for -32768."""


def int16_convolution(columns, kind, width=4, bias=0, op="CONV_2D"):
    """A 1x1 convolution, or a dense layer, of two channels whose weights are 127."""
    dense = op == "FULLY_CONNECTED"
    tensors = [
        tensor("x", [1, columns] if dense else [1, 1, width, columns], type="INT16", scale=(0.001,)),
        tensor("w", [2, columns] if dense else [2, 1, 1, columns], buffer=1, scale=(0.01,)),
        tensor("y", [1, 2] if dense else [1, 1, width, 2], type="INT16", scale=(1.0,)),
    ]
    buffers = [{}, {"data": [127] * 2 * columns}]
    if kind:
        tensors.insert(2, tensor("b", [2], buffer=2, type=kind, scale=(0.001 * 0.01,)))
        buffers.append({"data": list(struct.pack(f"<2{BIAS_FORMATS[kind]}", bias, bias))})
    options = (
        ("FullyConnectedOptions", {}) if dense else ("Conv2DOptions", {"padding": "SAME", "stride_w": 1, "stride_h": 1})
    )
    return one_operator(op, tensors, options, buffers=buffers)


def row_of(model, build) -> TflmOperator:
    (row,) = interpret(read_tflite("m.tflite", write(model)), build).operators
    return row


@pytest.mark.parametrize("target", [M4, M55])
@pytest.mark.parametrize(
    ("columns", "kind", "bias", "overflows"),
    [
        (516, "INT32", 0, False),
        (517, "INT32", 0, True),
        (516, "INT32", UP, False),
        (516, "INT32", UP + 1, True),
        (516, "INT32", DOWN, False),
        (516, "INT32", DOWN - 1, True),
        (517, None, 0, True),
        (517, "INT64", 0, False),
        (516, "INT64", UP + 1, False),
    ],
)
def test_the_bound_is_exact(target, columns, kind, bias, overflows):
    row = row_of(int16_convolution(columns, kind, bias=bias), TflmBuild(target))
    assert (row.cause == "sums") == overflows
    assert row.verdict.value == ("wrong" if overflows else "CMSIS-NN")


def test_all_channels_that_overflow_are_counted(told):
    told(row_of(int16_convolution(1152, "INT32", bias=-7), TflmBuild(M4)).reason)


@pytest.mark.parametrize(
    ("target", "width", "overflows"), [(M4, 3, True), (M3, 1, True), (M4, 4, False), (M55, 3, False), (M55, 1, False)]
)
def test_the_last_of_an_odd_number_of_pixels_with_an_int64_bias(target, width, overflows):
    row = row_of(int16_convolution(517, "INT64", width), TflmBuild(target))
    assert (row.verdict.value, row.cause) == (("wrong", "sums") if overflows else ("CMSIS-NN", ""))


def test_without_a_bias_and_without_overflow_two_steps_are_the_most():
    """0x40008000 loses 2^-16 of itself as a multiplier of 15 bits: one step in 32767, and one by rounding."""
    row = row_of(int16_convolution(516, None), TflmBuild(M4))
    assert row.verdict.value == "wrong"
    assert "two steps off" in row.reason


@pytest.mark.parametrize(
    ("op", "kind", "revision", "overflows"),
    [
        ("CONV_2D", "INT32", "2026-06-24", True),
        ("CONV_2D", None, "2026-06-24", False),
        ("CONV_2D", None, "2026-05-21", True),
        ("CONV_2D", "INT64", "2026-05-21", False),
        ("FULLY_CONNECTED", "INT32", "2026-06-24", True),
        ("FULLY_CONNECTED", None, "2026-06-24", False),
        ("FULLY_CONNECTED", None, "2026-05-21", True),
    ],
)
def test_reference_code_adds_in_the_type_of_the_bias(op, kind, revision, overflows):
    build = build_for(runtime_of(f"tflm@{revision}"), M4, "NONE")
    assert (row_of(int16_convolution(517, kind, op=op), build).cause == "sums") == overflows


def call_of(entry, **changes):
    return KernelCall(entry, Dims(1, 4, 4, 600), Dims(4, 1, 1, 600), Dims(1, 4, 4, 4), **changes)


@pytest.mark.parametrize(
    ("cpu", "release", "changes", "products", "blocks"),
    [
        ("cortex-m4", "main", {}, SHORT, True),
        ("cortex-m4", "main", {"int32_bias": True}, ALL_PRODUCTS, False),
        ("cortex-m55", "7.0.0", {"int32_bias": True}, ALL_PRODUCTS, False),
        ("cortex-m4", "6.0.0", {"output_dims": Dims(1, 3, 3, 4)}, ALL_PRODUCTS, True),
        ("cortex-m4", "6.0.0", {"output_dims": Dims(1, 1, 1, 4)}, ALL_PRODUCTS, False),
        ("cortex-m55", "6.0.0", {"output_dims": Dims(1, 1, 1, 4)}, SHORT, True),
        ("cortex-m4", "5.0.0", {}, 0, False),
        ("cortex-m55", "4.0.0", {}, 0, False),
    ],
)
def test_products_in_32_bits_of_a_convolution(cpu, release, changes, products, blocks):
    call, target = call_of("convolve_s16")._replace(**changes), target_of(cpu, release)
    assert (products_in_32_bits(call, target), adds_in_blocks(call, target)) == (products, blocks)


@pytest.mark.parametrize(("cpu", "products"), [("cortex-m3", 0), ("cortex-m4", SHORT), ("cortex-m55", SHORT)])
def test_dense_layers_add_in_blocks_with_dsp_alone(cpu, products):
    call, target = call_of("fully_connected_s16"), target_of(cpu, "7.0.0")
    assert (products_in_32_bits(call, target), adds_in_blocks(call, target)) == (products, products > 0)


def test_other_costs_with_an_int32_bias_are_not_told():
    call = call_of("convolve_s16")
    assert cost(call, M4) is not None
    assert cost(call._replace(int32_bias=True), M4) is None
    short = call._replace(input_dims=Dims(1, 4, 4, 64), filter_dims=Dims(4, 1, 1, 64), int32_bias=True)
    assert cost(short, M4) is not None
    assert cost(short, M55) is None


@pytest.mark.skipif(not REPORTS.exists(), reason="the shared cases are not beside the project")
@pytest.mark.parametrize("name", ["b16_ones_i32bias", "b16_ones_nobias"])
def test_reported_sums(name):
    (finding,) = linted(REPORTS / f"{name}.tflite").findings
    assert (finding.selector, finding.level) == ("CNN402[sums]", Level.ERROR)
