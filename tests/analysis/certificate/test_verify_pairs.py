"""Random pairs of ONNX models: what `verify` calls equal gives equal outputs in ONNX Runtime."""

from __future__ import annotations

import os

from support.draws import draws
from support.onnx_changes import CHANGES
from support.onnx_drafts import QOPERATORS
from support.onnx_operations import FLOATS
from support.onnx_pair_runs import DIFFERS, EQUAL
from support.onnx_pairs import hunt
from support.operator_records import ONNX_RECORDS

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES") or draws(60)) * 5
"""Pairs that are drawn."""
LEFT_OUT = {
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    *("If", "Loop", "Scan", "Constant", "ConstantOfShape"),
    *("RequantShift", "IntegerDiv", "IntegerMean", "iGELU", "iLayerNorm", "iSoftmax", "Upsample"),
}
"""Operators whose numbers are drawn, that hold subgraphs or constants, or that ONNX Runtime does not have."""


def test_no_pair_is_called_equal_that_differs() -> None:
    told: list[str] = []
    counted = hunt(EXAMPLES, 1, told.append)
    assert not [line for line in told if DIFFERS in line]
    assert sum(counted[kind, EQUAL] for kind in CHANGES) > EXAMPLES / 10


def test_pairs_are_drawn_of_every_operator_that_is_known() -> None:
    known = {record.name for record in ONNX_RECORDS if record.domain != "PACTOps"}
    assert known - {operation.op for operation in FLOATS} - {*QOPERATORS} == LEFT_OUT
