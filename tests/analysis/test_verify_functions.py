"""Local functions of ONNX: laid flat, with the operator sets that they import themselves."""

from __future__ import annotations

import onnx
import pytest
from onnx import inliner

from onnxlint_cmsis.formats.format import ONNX
from support import models
from support.equal_files import onnx_equal


def called(opset: int, own: int, node: str = "Softmax(a)") -> onnx.ModelProto:
    return models.text(
        f'<ir_version: 9, opset_import: ["" : {opset}, "local" : 1]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) '
        "{ r = Relu(x) y = local.Curved(r) } "
        f'<domain: "local", opset_import: ["" : {own}]> Curved (a) => (b) {{ b = {node} }}'
    )


@pytest.mark.parametrize("node", ["Softmax(a)", "Tanh(a)", "Transpose<perm = [0, 1, 2]>(a)"])
def test_a_local_function_is_what_its_nodes_are(node: str) -> None:
    file = called(13, 13, node)
    flat = inliner.inline_local_functions(file)
    assert not flat.functions and onnx_equal(file, flat) and onnx_equal(flat, file)


def test_a_local_function_has_the_operator_sets_that_it_imports() -> None:
    """`Softmax` without an axis takes the last one from operator set 13 on, and the last two before."""
    flat = [inliner.inline_local_functions(called(opset, opset)) for opset in (11, 13)]
    mixed = called(13, 11)
    assert onnx_equal(mixed, mixed) and not onnx_equal(mixed, flat[1])
    ends = ONNX.load("m.onnx", mixed.SerializeToString()).graph.nodes
    assert [node.opset for node in ends] == [13, 11]
