"""Products of operands of different shapes: one finding for all shapes, and what to do about operands."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from support.linter import linted

SHAPES = ((24, 8), (12, 16), (12, 24), (6, 32), (3, 64))
REPEATED = "Nothing: reference code repeats the smaller operand."


def gates(shapes: tuple[tuple[int, int], ...] = SHAPES, *, stored: bool = False) -> onnx.ModelProto:
    """Planes, each times one number for each channel, as a squeeze-and-excitation block has them."""
    inputs, outputs, constants, body = [], [], ["float s = {0.1}", "int8 z = {0}"], ""
    for number, (size, channels) in enumerate(shapes):
        gate = f"int8[1, {channels}, 1, 1] g{number}"
        inputs += [f"int8[1, {channels}, {size}, {size}] x{number}", *([] if stored else [gate])]
        constants += [f"{gate} = {{{', '.join(map(str, range(channels)))}}}"] if stored else []
        outputs.append(f"int8[1, {channels}, {size}, {size}] y{number}")
        body += f"""
    a{number} = DequantizeLinear(x{number}, s, z)
    b{number} = DequantizeLinear(g{number}, s, z)
    m{number} = Mul(a{number}, b{number})
    y{number} = QuantizeLinear(m{number}, s, z)"""
    header = f"g ({', '.join(inputs)}) => ({', '.join(outputs)}) <{', '.join(constants)}>"
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]>\n{header} {{{body}\n}}')


@pytest.mark.parametrize(("runtime", "code"), [("direct", "CNN190"), ("tflm", "CNN403")])
def test_products_of_five_shapes_are_one_finding(runtime: str, code: str) -> None:
    findings = linted(gates(), targets=["cortex-m4"], runtime=runtime).findings
    assert {(finding.code, finding.remedy) for finding in findings} == {(code, REPEATED)}
    assert len({finding.group for finding in findings}) == 1
    assert not any("24x24" in finding.text for finding in findings)


@pytest.mark.parametrize("shapes", [SHAPES[:1], SHAPES[:1] * 2])
def test_products_of_the_same_shapes_name_them(shapes: tuple[tuple[int, int], ...]) -> None:
    findings = linted(gates(shapes), targets=["cortex-m4"], runtime="direct").findings
    assert len(findings) == len(shapes)
    assert all("its operands have shapes 1x8x24x24 and 1x8x1x1" in finding.text for finding in findings)


def test_a_constant_is_what_advice_of_storing_is_for() -> None:
    (finding,) = linted(gates(SHAPES[:1], stored=True), targets=["cortex-m4"], runtime="tflm").findings
    assert finding.remedy.startswith("Give both one shape: store a constant")
