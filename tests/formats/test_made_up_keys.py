"""Keys that are made up cannot exist in a file."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from support.read_models import model, read, value
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write


def test_no_two_tensors_of_a_tflite_file_have_one_key() -> None:
    """Names as keys are made: with an index, with a path."""
    names = ["x", "x#2", "x", "x#2~", "", "tensor#4", "CALL_ONCE#0/init_subgraph/x", "tensor#4"]
    tensors = [tensor(name, [4]) for name in names]
    steps = [{"opcode_index": 1, "inputs": [at], "outputs": [at + 1]} for at in range(1, 7)]
    once = {"opcode_index": 0, "builtin_options": ("CallOnceOptions", {"init_subgraph_index": 1})}
    inner = {"tensors": [tensor("x", [1]), tensor("x", [2])], "inputs": [], "outputs": [], "operators": []}
    main = {"tensors": tensors, "inputs": [1], "outputs": [7], "operators": [once, *steps]}
    codes = [operator_code("CALL_ONCE"), operator_code("NEG")]
    graph = load_tflite(
        "m.tflite",
        data=write({"version": 3, "operator_codes": codes, "subgraphs": [main, inner], "buffers": [{}]}),
    ).graph
    assert len(graph.tensors) == len(names) + 2
    assert len({key for node in graph.nodes[1:] for key in (*node.inputs, *node.outputs)}) == 7
    assert graph.inputs == ("x#2",)


def test_a_value_of_a_function_has_a_name_of_its_own() -> None:
    """Whatever the file calls its own values, and where two calls have one name."""
    nodes = [helper.make_node("Neg", ["a"], ["t"]), helper.make_node("Abs", ["t"], ["b"])]
    function = helper.make_function("some", "F", ["a"], ["b"], nodes, [helper.make_opsetid("", 17)])
    calls = [helper.make_node("F", [start], [end], "n", domain="some") for start, end in (("x", "u"), ("u", "v"))]
    last = helper.make_node("Add", ["v", "n.F/t"], ["y"])
    constant = numpy_helper.from_array(np.ones(4, np.float32), "n.F/t")
    proto = model([*calls, last], [value("x", [4])], [value("y", [4])], [constant], opsets=[("some", 1)])
    proto.functions.append(function)
    graph = read(proto)
    assert [node.op_type for node in graph.nodes] == ["Neg", "Abs", "Neg", "Abs", "Add"]
    assert graph.constants["n.F/t"].values() == (1.0,) * 4
    assert len({node.outputs[0] for node in graph.nodes} | {"n.F/t"}) == 6
