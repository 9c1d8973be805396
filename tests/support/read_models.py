"""Small models the reading tests are made of."""

from __future__ import annotations

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.model.graph import Graph

FLOAT = TensorProto.FLOAT


def value(name, shape, elem_type=FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, initializers=(), *, opset=17, ir=8, opsets=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers), **more)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in opsets)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir)


def conv_model(weight_shape=(8, 4, 3, 3), *, initializer=None, **attributes):
    """One convolution over [N, 4, 8, 8] with a weight of several KiB."""
    weight = initializer or tensor("w", np.ones(weight_shape, np.float32))
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", **attributes)
    return model([node], [value("x", ["N", 4, 8, 8])], [value("y", ["N", "C", "H", "W"])], [weight])


def read(proto, **options) -> Graph:
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return load("model.onnx", data=data, **options)


def texts(graph: Graph, kind="invalid"):
    """Messages with the label of their node, but for the checker's on outputs these models give no shape."""
    messages = [f"{p.node}: {p.message}" if p.node else p.message for p in graph.problems if p.kind == kind]
    return [text for text in messages if not re.fullmatch("onnx.checker: Field '(shape|type)' of .* missing.", text)]


def only(graph: Graph, kind="invalid"):
    """The one problem of a graph."""
    messages = texts(graph, kind)
    assert len(messages) == 1, messages
    return messages[0]


def node_at(data, node):
    """The NodeProto a node's byte range holds."""
    return onnx.NodeProto.FromString(data[node.offset : node.offset + node.length])
