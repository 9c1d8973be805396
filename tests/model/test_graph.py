"""The graph as plain data."""

from __future__ import annotations

from onnxlint_cmsis.model.graph import Node


def test_a_tensor_that_a_node_leaves_off_has_the_empty_name() -> None:
    node = Node(0, "", "Conv", "", 13, ("x", "w"), ())
    assert (node.inputs[0], node.inputs[2], node.inputs[-3], node.outputs[0]) == ("x", "", "", "")
    assert node.inputs[1:5] == ("w",)
    assert node.inputs == ("x", "w")
