"""The flat graph: keys, subgraphs, local functions, constants, producers and consumers."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES
from onnxlint_cmsis.model.graph import MAX_VALUES
from onnxlint_cmsis.model.model_error import ModelError
from support import models
from support.read_models import model, node_at, read, tensor, texts, value

BOOL = TensorProto.BOOL
C = value("c", [], BOOL)
X = value("x", ["N", 4])


def relu(source, target, name=""):
    return helper.make_node("Relu", [source], [target], name=name)


def branch(name, *nodes, initializers=()):
    return helper.make_graph(list(nodes), name, [], [value("y", None)], list(initializers))


def if_node(output, name="if"):
    inner = branch(
        "then",
        relu("x", "t"),
        helper.make_node("Add", ["t", "k"], ["y"]),
        initializers=[tensor("k", np.ones(4, np.float32))],
    )
    return helper.make_node(
        "If", ["c"], [output], name=name, then_branch=inner, else_branch=branch("else", relu("x", "y"))
    )


def test_nodes_of_subgraphs_follow_their_holder():
    data = model([if_node("a"), relu("a", "b", "last")], [X, C], [value("b", None)]).SerializeToString()
    graph = read(data)
    assert [(node.op_type, node.graph) for node in graph.nodes] == [
        ("If", ""),
        ("Relu", "if.else_branch"),
        ("Relu", "if.then_branch"),
        ("Add", "if.then_branch"),
        ("Relu", ""),
    ]
    assert [node.index for node in graph.nodes] == list(range(5))
    assert [node_at(data, node).op_type for node in graph.nodes] == [node.op_type for node in graph.nodes]


def test_keys_of_subgraphs():
    graph = read(model([if_node("a")], [X, C], [value("a", None)]))
    add = graph.nodes[3]
    assert add.inputs == ("if.then_branch/t", "if.then_branch/k")
    assert add.outputs == ("if.then_branch/y",)
    assert graph.nodes[2].inputs == ("x",)
    assert graph.constants["if.then_branch/k"].values() == (1.0,) * 4
    assert graph.shape("if.then_branch/t") == (1, 4)
    bodies = graph.nodes[0].bodies
    assert [(b.attribute, b.inputs, b.outputs) for b in bodies] == [
        ("else_branch", (), ("if.else_branch/y",)),
        ("then_branch", (), ("if.then_branch/y",)),
    ]
    assert graph.producers["if.then_branch/y"] is add
    assert graph.nodes[0] in graph.consumers["if.then_branch/y"]
    assert [n.index for n in graph.consumers["x"]] == [1, 2]


def test_keys_stay_unique_where_names_repeat():
    graph = read(model([if_node("a", "same"), if_node("b", "same"), if_node("d", "")], [X, C], [value("a", None)]))
    outputs = [key for node in graph.nodes for key in node.outputs]
    assert len(outputs) == len(set(outputs))
    assert "If#8.then_branch/y" in outputs


def test_loop_body_has_formal_inputs():
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond_in"], ["cond_out"]), relu("state", "state_out")],
        "body",
        [value("i", [], 7), value("cond_in", [], BOOL), value("state", None)],
        [value("cond_out", [], BOOL), value("state_out", None)],
    )
    loop = helper.make_node("Loop", ["n", "c", "x"], ["y"], name="loop", body=body)
    graph = read(model([loop], [X, C, value("n", [], 7)], [value("y", None)]))
    assert graph.nodes[0].bodies[0].inputs == ("loop.body/i", "loop.body/cond_in", "loop.body/state")
    assert graph.inputs == ("x", "c", "n")
    assert graph.nodes[2].inputs == ("loop.body/state",)


def function(name, nodes, inputs=("a",), outputs=("b",), domain="local", attributes=(), **more):
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function(
        domain, name, list(inputs), list(outputs), list(nodes), imports, list(attributes), **more
    )


def with_functions(nodes, functions, outputs):
    proto = model(nodes, [X, C], outputs, opsets=[("local", 1)])
    proto.functions.extend(functions)
    return proto


def call(name, source, target, label="", **attributes):
    return helper.make_node(name, [source], [target], name=label, domain="local", **attributes)


def test_local_functions_are_laid_flat():
    inner = function("Inner", [relu("a", "m", "r"), relu("m", "b")])
    outer = function("Outer", [call("Inner", "a", "k", "in"), helper.make_node("Flatten", ["k"], ["b"])])
    proto = with_functions([call("Outer", "x", "y", "out"), relu("y", "z")], [outer, inner], [value("z", None)])
    data = proto.SerializeToString()
    graph = read(data)
    assert [(n.op_type, n.graph) for n in graph.nodes] == [
        ("Relu", "out.Outer/in.Inner"),
        ("Relu", "out.Outer/in.Inner"),
        ("Flatten", "out.Outer"),
        ("Relu", ""),
    ]
    assert graph.nodes[0].name == "out.Outer/in.Inner/r"
    assert graph.nodes[0].inputs == ("x",)
    assert graph.nodes[2].outputs == ("y",)
    assert graph.shape("out.Outer/k") == (1, 4)
    assert [node_at(data, n).op_type for n in graph.nodes] == [n.op_type for n in graph.nodes]
    assert texts(graph) == []
    assert graph.node_metadata == {}


def test_attributes_of_a_function():
    referring = helper.make_node("LeakyRelu", ["a"], ["b"])
    referring.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    proto = with_functions(
        [call("F", "x", "y", slope=0.5), call("F", "y", "z")],
        [function("F", [referring], attributes=["slope"])],
        [value("z", None)],
    )
    graph = read(proto)
    assert [node.attributes for node in graph.nodes] == [{"alpha": 0.5}, {}]


def test_default_attributes_of_a_function():
    referring = helper.make_node("LeakyRelu", ["a"], ["b"])
    referring.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    f = function("F", [referring], attribute_protos=[helper.make_attribute("slope", 0.25)])
    assert read(with_functions([call("F", "x", "y")], [f], [value("y", None)])).nodes[0].attributes == {"alpha": 0.25}


def test_a_function_with_a_subgraph_called_in_a_subgraph():
    holder = helper.make_node(
        "If", ["k"], ["b"], name="if", then_branch=branch("t", relu("a", "y")), else_branch=branch("e", relu("a", "y"))
    )
    f = function("F", [holder], inputs=("a", "k"))
    twice = helper.make_node("F", ["x", "c"], ["y"], name="call", domain="local")
    outer = helper.make_node(
        "If", ["c"], ["z"], name="top", then_branch=branch("t", twice), else_branch=branch("e", relu("x", "y"))
    )
    data = with_functions([outer], [f], [value("z", None)]).SerializeToString()
    graph = read(data)
    assert [n.op_type for n in graph.nodes] == ["If", "Relu", "If", "Relu", "Relu"]
    assert graph.nodes[3].inputs == ("x",)
    assert graph.nodes[2].inputs == ("c",)
    outputs = [key for node in graph.nodes for key in node.outputs]
    assert len(outputs) == len(set(outputs))
    assert texts(graph) == []
    assert all(node_at(data, n).op_type == n.op_type for n in graph.nodes)


def test_a_function_that_passes_its_input_on():
    f = function("F", [relu("a", "b")], outputs=("b", "a"))
    node = helper.make_node("F", ["x"], ["y", "same"], domain="local")
    graph = read(with_functions([node, relu("same", "z")], [f], [value("z", None)]))
    assert [n.op_type for n in graph.nodes] == ["Relu", "Identity", "Relu"]
    assert graph.shape("z") == (1, 4)


def test_recursive_functions():
    f = function("F", [call("F", "a", "b", "again")])
    graph = read(with_functions([call("F", "x", "y", "top")], [f], [value("y", None)]))
    assert any("`F` calls itself" in text for text in texts(graph))


def test_functions_that_expand_without_end():
    doubling = [function(f"F{i}", [call(f"F{i + 1}", "a", "m"), call(f"F{i + 1}", "m", "b")]) for i in range(40)]
    proto = with_functions([call("F0", "x", "y")], [*doubling, function("F40", [relu("a", "b")])], [value("y", None)])
    with pytest.raises(Exception, match="expand to more than 10000 nodes"):
        read(proto)


def test_functions_that_call_one_another_too_deep():
    calling = [function(f"F{i}", [call(f"F{i + 1}", "a", "b")]) for i in range(600)]
    proto = with_functions([call("F0", "x", "y")], [*calling, function("F600", [relu("a", "b")])], [value("y", None)])
    with pytest.raises(ModelError, match="more than 100 local functions call one another"):
        read(proto)


def test_functions_whose_names_grow_have_bytes_to_grow_by():
    doubling = [function(f"F{i}", [call(f"F{i + 1}", "a", "m"), call(f"F{i + 1}", "m", "b")]) for i in range(12)]
    long = "n" * 20_000
    last = function("F12", [relu("a", long), relu(long, "b")])
    with pytest.raises(ModelError, match="expand to more than 67108864 bytes"):
        read(with_functions([call("F0", "x", "y")], [*doubling, last], [value("y", None)]))


def test_a_node_whose_output_has_no_name_is_worked_out_for_nobody():
    """Its operands are small integer constants, as those of the amounts of a Pad."""
    proto = models.text("""
        <ir_version: 8, opset_import: ["" : 13]> g (float[1, 4] x) => (float[1, 4] y)
        <int64[2] a = {1, 2}, int64[2] b = {3, 4}> { c = Add(a, b)
          y = Relu(x) }
    """)
    proto.graph.node[0].output[0] = ""
    assert [node.op_type for node in read(proto).nodes] == ["Add", "Relu"]


def test_names_may_be_missing_or_repeated(told):
    graph = read(model([relu("x", "a"), relu("a", "b", "n"), relu("b", "d", "n")], [X], [value("d", None)]))
    assert [node.label for node in graph.nodes] == ["Relu#0", "n", "n"]
    told(texts(graph, "invalid"))


def test_domains_and_versions():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], domain="ai.onnx"),
        helper.make_node("Conv", ["a"], ["b"], domain="odd"),
    ]
    proto = model(nodes, [X], [value("b", None)], opset=12, opsets=[("odd", 3)])
    proto.opset_import[0].domain = "ai.onnx"
    graph = read(proto)
    assert [(n.domain, n.opset, n.is_op("Conv")) for n in graph.nodes] == [("", 12, False), ("odd", 3, False)]


def test_attributes():
    node = helper.make_node(
        "Odd",
        [],
        ["y"],
        domain="odd",
        i=3,
        f=0.5,
        s="text",
        ints=[1, 2],
        floats=[0.5],
        strings=["a", "b"],
        t=tensor("", [1.0]),
    )
    node.attribute.append(helper.make_attribute("raw", b"\xff\xfe"))
    untyped = helper.make_attribute("old", [4, 5])
    untyped.ClearField("type")
    node.attribute.append(untyped)
    graph = read(model([node], [X], [value("y", None)], opsets=[("odd", 1)]))
    assert graph.nodes[0].attributes == {
        "i": 3,
        "f": 0.5,
        "s": "text",
        "ints": (1, 2),
        "floats": (0.5,),
        "strings": ("a", "b"),
        "raw": b"\xff\xfe",
        "old": (4, 5),
    }


def test_metadata():
    proto = model([relu("x", "y")], [X], [value("y", None)], ir=10)
    helper.set_model_props(proto, {"author": "a"})
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    graph = read(proto)
    assert graph.metadata == {"author": "a"}
    assert graph.node_metadata == {0: {"k": "v"}}


@pytest.mark.parametrize("functions", [[], [function("F", [relu("a", "b")])]])
def test_metadata_under_the_keys_used_inside(functions):
    proto = with_functions([relu("x", "y")], functions, [value("y", None)])
    proto.graph.node[0].metadata_props.add(key="\x01range", value="junk")
    data = proto.SerializeToString()
    (node,) = read(data).nodes
    assert (node_at(data, node).op_type, node.graph) == ("Relu", "")


@pytest.mark.parametrize(("ir", "overridable"), [(3, False), (8, True)])
def test_initializers_that_are_inputs(ir, overridable):
    proto = model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [X, value("w", [4])],
        [value("y", None)],
        [tensor("w", np.ones(4, np.float32))],
        ir=ir,
        opset=8,
    )
    graph = read(proto)
    assert graph.inputs == ("x",)
    assert graph.constants["w"].overridable is overridable
    assert graph.constants["w"].values() == (1.0,) * 4


FORMS = [
    ({"value": tensor("", np.array([[1, 2]], np.int8))}, "int8", (1, 2), (1, 2)),
    ({"value_int": 7}, "int64", (), (7,)),
    ({"value_float": 0.5}, "float32", (), (0.5,)),
    ({"value_ints": [1, 2, 3]}, "int64", (3,), (1, 2, 3)),
    ({"value_floats": [1.0, 2.0]}, "float32", (2,), (1.0, 2.0)),
    ({"value_string": "a"}, "string", (), None),
    ({"value_strings": ["a", "b"]}, "string", (2,), None),
]


@pytest.mark.parametrize(("attribute", "elem_type", "shape", "values"), FORMS)
def test_constant_nodes(attribute, elem_type, shape, values):
    nodes = [helper.make_node("Constant", [], ["k"], **attribute), helper.make_node("Identity", ["k"], ["y"])]
    graph = read(model(nodes, [], [helper.make_empty_tensor_value_info("y")]))
    for key in ("k", "y"):
        constant = graph.constants[key]
        assert (constant.name, constant.elem_type, constant.shape, constant.values()) == (key, elem_type, shape, values)
        assert (graph.elem_type(key), graph.shape(key)) == (elem_type, shape)


@pytest.mark.parametrize(
    ("fill", "elem_type", "values"),
    [(None, "float32", (0.0,) * 6), (np.array([7], np.int8), "int8", (7,) * 6)],
)
def test_constant_of_shape(fill, elem_type, values):
    more = {} if fill is None else {"value": tensor("", fill)}
    graph = read(
        model(
            [helper.make_node("ConstantOfShape", ["s"], ["y"], **more)], [], [value("y", None)], [tensor("s", [2, 3])]
        )
    )
    constant = graph.constants["y"]
    assert (constant.elem_type, constant.shape, constant.values()) == (elem_type, (2, 3), values)


def test_values_are_capped():
    huge = helper.make_node("ConstantOfShape", ["s"], ["y"])
    weight = tensor("w", np.zeros(MAX_VALUES + 1, np.float32))
    graph = read(model([huge], [], [value("y", None)], [tensor("s", [2**30, 2**20]), weight]))
    assert graph.constants["y"].values() is None
    assert graph.constants["w"].values() is None
    assert graph.constants["y"].shape == (2**30, 2**20)


@pytest.mark.parametrize("rank", [33, 65])
def test_integers_of_more_axes_than_an_array_may_have_are_not_worked_out(rank, told):
    """numpy 1 has 32 axes, numpy 2 has 64."""
    deep = TensorProto(name="w", data_type=TensorProto.INT64, dims=[1] * rank, int64_data=[7])
    nodes = [helper.make_node("Constant", [], ["c"], value=deep), helper.make_node("Concat", ["w", "c"], ["y"], axis=0)]
    graph = read(model(nodes, [], [value("y", None)], [deep]))
    undecided = [problem.message for problem in graph.problems if problem.kind == "undecided"]
    told(undecided)


def test_dequantized_and_overridable_values_are_no_constants():
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
        helper.make_node("ConstantOfShape", ["shape"], ["z"]),
        helper.make_node("Add", ["d", "z"], ["y"]),
    ]
    numbers = [tensor("q", np.ones(4, np.int8)), tensor("s", np.float32(1)), tensor("shape", np.array([4]))]
    graph = read(model(nodes, [value("shape", [1], 7)], [value("y", None)], numbers))
    assert set(graph.constants) == {"q", "s", "shape"}


@pytest.mark.parametrize("linear", [True, False])
def test_sparse_values(linear):
    values = tensor("w", np.array([1.5, 2.5], np.float32))
    places = tensor("i", np.array([1, 5]) if linear else np.array([[0, 1], [1, 2]]))
    sparse = helper.make_sparse_tensor(values, places, [2, 3])
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2, 3])], [value("y", None)])
    proto.graph.sparse_initializer.append(sparse)
    proto.graph.node.append(helper.make_node("Constant", [], ["k"], sparse_value=sparse))
    graph = read(proto)
    assert graph.constants["w"].values() == graph.constants["k"].values() == (0, 1.5, 0, 0, 0, 2.5)
    assert graph.shape("w") == (2, 3)
    assert texts(graph) == []


def test_large_sparse_values():
    values, places = tensor("w", np.full(2000, 0.5, np.float32)), tensor("i", np.arange(2000) * 3)
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [6000])], [value("y", [6000])])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [6000]))
    graph = read(proto)
    assert graph.problems == ()
    assert graph.constants["w"].values() == (0.5, 0, 0) * 2000


KNOWN_HERE = onnx.TensorProto.DataType.values()
"""Types the installed onnx has."""
NUMBERS = [
    name for n, (name, bits) in ELEM_TYPES.items() if n in KNOWN_HERE and bits and not name.startswith("complex")
]


def reference(proto, name):
    """Values by onnx, or by ml_dtypes where onnx before 1.18 hands out the bits of a bfloat16 or float8 as integers."""
    array = numpy_helper.to_array(proto)
    if array.dtype.names and "float" in name:
        array = np.frombuffer(proto.raw_data, getattr(ml_dtypes, name.replace("float8", "float8_")))
    with np.errstate(invalid="ignore"):  # nan among the patterns
        return [float(v) for v in array.astype(np.float64).ravel()]


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("count", [5, 1500])
@pytest.mark.parametrize("name", NUMBERS)
def test_values_of_every_type_agree_with_onnx(name, count, raw):
    number = next(n for n, row in ELEM_TYPES.items() if row[0] == name)
    bits = ELEM_TYPES[number][1]
    rng = np.random.default_rng(number)
    data = rng.integers(0, 256, (count * bits + 7) // 8, np.uint8)
    if name == "bool":
        data &= 1
    if bits == 6 or (count * bits) % 8:
        data[-1] &= (1 << ((count * bits) % 8 or 8)) - 1
    proto = TensorProto(name="w", data_type=number, dims=[count], raw_data=data.tobytes())
    expected = reference(proto, name)
    if not raw:
        proto = typed(proto, data, bits, name, count)
    graph = read(model([], [], [value("w", [count], number)], [proto]))
    assert texts(graph) == []
    values = graph.constants["w"].values()
    assert len(values) == count
    assert all(float(a) == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(values, expected, strict=True))


def typed(proto, data, bits, name, count):
    """The same tensor with its values in a list."""
    out = TensorProto(name="w", data_type=proto.data_type, dims=[count])
    if name in ("float32", "float64", "int64", "uint64", "uint32", "int32", "int16", "int8"):
        field = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}.get(name)
        field = field or ("uint64_data" if name.startswith("u") else "int32_data")
        getattr(out, field).extend(numpy_helper.to_array(proto).ravel().tolist())
    elif bits == 6:
        whole = int.from_bytes(data.tobytes(), "little")
        out.int32_data.extend(whole >> 6 * i & 63 for i in range(count))
    else:
        out.int32_data.extend(data.view(np.uint16).tolist() if bits == 16 else data.tolist())
    return out


def test_complex_and_text_values_are_not_numbers():
    words = helper.make_tensor("words", TensorProto.STRING, [2], [b"a", b"b"])
    pairs = numpy_helper.from_array(np.ones(2, np.complex64), "pairs")
    graph = read(model([], [], [value("words", [2], 8)], [words, pairs]))
    assert graph.constants["words"].values() is None
    assert graph.constants["pairs"].values() is None
    assert texts(graph) == []
