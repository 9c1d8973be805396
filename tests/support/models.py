"""Small models for the tests."""

from __future__ import annotations

import math
import re

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper, parser, shape_inference

from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.model.graph import Graph


def read(model: ModelProto) -> Graph:
    """Load a model the way standard input is loaded."""
    return load("-", data=model.SerializeToString())


def finished(graph: GraphProto, opset: int = 13) -> ModelProto:
    """Make a model of a graph whose output shapes are left to inference."""
    domains = {node.domain for node in graph.node} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def text(source: str) -> ModelProto:
    """Parse ONNX's textual form; `float[4,2] w = {v}` stands for as many v as the sizes ask for.

    A line may begin with the name of its node, in brackets; the parser of onnx 1.17 does not take that.
    """
    named = r"^( *)\[([a-z]\w*)\] (\w+) = "
    names = {output: name for _, name, output in re.findall(named, source, re.MULTILINE)}
    source = re.sub(named, r"\1\3 = ", source, flags=re.MULTILINE)

    def filled(match: re.Match[str]) -> str:
        count = math.prod(int(size) for size in match[1].split(","))
        return f"[{match[1]}] {match[2]} = {{{','.join([match[3]] * count)}}}"

    model = parser.parse_model(re.sub(r"\[([\d, ]+)\] (\w+) = \{([-.\w]+)\}", filled, source))
    for node in model.graph.node:
        node.name = names.get(node.output[0], node.name)
    return model


def one_node(
    op_type: str,
    shape: list[int | str],
    weights: dict[str, tuple[int, ...]],
    domain: str = "",
    opset: int = 13,
    **attributes: object,
) -> ModelProto:
    """Make a float model of one operator: input `x`, constants `weights`, output `y` of unknown shape."""
    node = helper.make_node(op_type, ["x", *weights], ["y"], op_type.lower(), domain=domain, **attributes)
    constants = [numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in weights.items()]
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        constants,
    )
    return finished(graph, opset)


def qdq(
    nodes: list[NodeProto], shape: list[int], weights: dict[str, np.ndarray], outputs: dict[str, list[int]]
) -> ModelProto:
    """Make a model from nodes with an int8 input `x` of scale 0.1 (initializers `s`, `z`).

    Outputs are int8 where QuantizeLinear makes them, else float.
    """
    integers = {node.output[0] for node in nodes if node.op_type == "QuantizeLinear"}
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    constants.append(numpy_helper.from_array(np.array(0.1, np.float32), "s"))
    constants.append(numpy_helper.from_array(np.array(0, np.int8), "z"))
    graph = helper.make_graph(
        nodes,
        "qdq",
        [helper.make_tensor_value_info("x", TensorProto.INT8, shape)],
        [
            helper.make_tensor_value_info(name, TensorProto.INT8 if name in integers else TensorProto.FLOAT, size)
            for name, size in outputs.items()
        ],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
