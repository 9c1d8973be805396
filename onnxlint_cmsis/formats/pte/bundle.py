"""A bundle: a program with inputs and expected outputs (devtools/bundled_program/schema/bundled_program_schema.fbs)."""

from __future__ import annotations

import struct
from math import prod

from onnxlint_cmsis.formats.flatbuffer import Table
from onnxlint_cmsis.formats.flatbuffer_schema import Schema
from onnxlint_cmsis.formats.pte.fields import ENUMS, SCALAR_VALUES, SCALARS, TABLES
from onnxlint_cmsis.formats.pte.index_checks import check_sizes
from onnxlint_cmsis.formats.pte.program_records import LETTERS, BundledCase, BundledTensor

BUNDLE = Schema(
    "a bundled ExecuTorch program",
    b"BP08",
    "BundledProgram",
    {
        **{name: TABLES[name] for name in ("Int", "Bool", "Double")},
        "Tensor": "scalar_type:ScalarType sizes:[int] data:[ubyte] dim_order:[ubyte]",
        "Value": "val:ValueUnion",
        "BundledMethodTestCase": "inputs:[Value] expected_outputs:[Value]",
        "BundledMethodTestSuite": "method_name:string test_cases:[BundledMethodTestCase]",
        "BundledProgram": "version:uint method_test_suites:[BundledMethodTestSuite] program:[ubyte]",
    },
    {"ScalarType": ENUMS["ScalarType"]},
    {"ValueUnion": ("NONE", "Tensor", "Int", "Bool", "Double")},
    SCALARS,
)


def cases_of(bundle: Table) -> tuple[BundledCase, ...]:
    """What a bundle gives and expects, case by case."""
    return tuple(
        BundledCase(suite.text("method_name"), *(tuple(map(_bundled, case.tables(end))) for end in ENDS))
        for suite in bundle.tables("method_test_suites")
        for case in suite.tables("test_cases")
    )


ENDS = ("inputs", "expected_outputs")
"""What a case has."""


def _bundled(value: Table) -> BundledTensor | int | float | bool:
    kind, table = value.union("val"), value.table("val")
    if table is None:
        raise BUNDLE.damaged(f"a value of a test case has type {kind}, which is not known")
    if kind != "Tensor":
        number = table.value(SCALAR_VALUES[kind])
        return number if isinstance(number, (bool, int, float)) else 0
    sizes, order, span = table.ints("sizes"), table.ints("dim_order"), table.bytes_of("data")
    check_sizes("a tensor of a test case", sizes, order)
    elem_type = table.text("scalar_type")
    size = prod(sizes) * struct.calcsize(LETTERS.get(elem_type, "B"))
    if size != span.length:
        raise BUNDLE.damaged(f"a tensor of a test case has {span.length} bytes; its sizes and type take {size}")
    table.file.spend(size)
    return BundledTensor(elem_type, sizes, order, bytes(table.file.data[span.offset : span.offset + span.length]))
