"""Local functions of ONNX: laid flat, with the operator sets that they import themselves."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, inliner
from onnxruntime import InferenceSession

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


def overriding(domain: str, name: str, node: str) -> onnx.ModelProto:
    """A model whose local function has an operator's name, and whose only node is of that name."""
    (called,) = models.text(
        f'<ir_version: 9, opset_import: ["" : 17]> g (float[4] a) => (float[4] b) {{ {node} }}'
    ).graph.node
    imports = [helper.make_opsetid(own, version) for own, version in {"": 17, domain: 1 if domain else 17}.items()]
    file = models.text('<ir_version: 9, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }')
    file.graph.node[0].op_type, file.graph.node[0].domain = name, domain
    file.functions.append(helper.make_function(domain, name, ["a"], ["b"], [called], imports))
    del file.opset_import[:]
    file.opset_import.extend(imports)
    return file


@pytest.mark.parametrize(
    ("domain", "name", "covered"),
    [("", "Relu", False), ("ai.onnx", "Relu", False), ("com.microsoft", "Gelu", False), ("local", "Relu", True)],
)
def test_a_local_function_under_an_operators_name_is_not_covered(domain: str, name: str, covered: bool) -> None:
    """ONNX leaves the choice to the runtime: ONNX Runtime takes its own Relu, onnx's inliner the function."""
    old = overriding(domain, name, "b = Abs(a)")
    new = models.text('<ir_version: 9, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Abs(x) }')
    assert onnx_equal(old, new) is covered


def test_onnx_runtime_takes_its_own_operator() -> None:
    x = np.array([-1, 2, -3, 4], np.float32)
    (y,) = InferenceSession(overriding("", "Relu", "b = Abs(a)").SerializeToString()).run(None, {"x": x})
    assert y.tolist() == [0, 2, 0, 4]
