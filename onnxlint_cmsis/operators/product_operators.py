"""Matrix products of the default domain."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import BY_WEIGHTS, Operator, TieRule, alias
from onnxlint_cmsis.operators.roles import Form, Quantized, Roles, Sums
from onnxlint_cmsis.operators.ties import product_ties as ties
from onnxlint_cmsis.operators.values.layer_sums import layer_values


def _product(name: str, axes: TieRule, roles: Roles) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, roles=roles, new_lane=ZEROS)
    return replace(made, values=layer_values, demand=BY_WEIGHTS)


FACTORS = Roles(data=(0, 1), weights=(1, 0), form=Form.MATMUL, sums=Sums.FLOAT)
"""Two factors in float, of which either may be constant."""

GEMM = _product("Gemm", ties.plain_gemm, Roles(data=(0, 1), weights=(1, 0), form=Form.GEMM, sums=Sums.FLOAT, bias=2))
MATMUL = _product("MatMul", ties.plain_matmul, FACTORS)
MATMUL_INTEGER = _product(
    "MatMulInteger",
    ties.matmul_integer,
    Roles(
        data=(0, 1),
        weights=(1, 0),
        form=Form.MATMUL,
        sums=Sums.INTEGERS,
        quantized=(Quantized(0, -1, 2), Quantized(1, -1, 3)),
    ),
)
QLINEAR_MATMUL = replace(
    alias("QLinearMatMul", "", MATMUL),
    axes=ties.qlinear_matmul,
    roles=Roles(
        data=(0, 3),
        weights=(3, 0),
        form=Form.MATMUL,
        sums=Sums.INTEGERS,
        quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)),
    ),
)

PRODUCTS = (GEMM, MATMUL, MATMUL_INTEGER, QLINEAR_MATMUL)
