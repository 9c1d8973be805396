"""What a file says and nobody reads is refused, unless both files say the same; so are sizes that nobody computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.analysis.certified import verify
from onnxlint_cmsis.analysis.lane_model import Model
from onnxlint_cmsis.analysis.lane_numbers import Numbers
from onnxlint_cmsis.formats.flatbuffer_schema import Schema
from onnxlint_cmsis.formats.format import ONNX, TFLITE, format_of
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from support import paths
from support.read_models import model, read, value
from support.tflite_models import conv_model, one_operator, tensor
from support.tflite_writer import operator_code, write

REFUSED = (
    *("int32_scale_quantize_ADD", "int32_scale_quantize_SUB", "int32_NEG", "int32_zero", "fc_weight_zero_INT8_channel"),
    *("tflite_name_collision", "offline_plan", "transpose_conv_output_shape", "split_stated", "reshape_2d_shape"),
    "quantize_precision",
)
"""Pairs of files that compute other numbers."""


def equal(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two files are equal, not by their bytes: their notes differ."""
    new = {**new, "description": f"{new.get('description')}, new"}
    return verify(*(TFLITE.load("m.tflite", write(given)) for given in (old, new))).equal


def equal_onnx(old: onnx.ModelProto, new: onnx.ModelProto) -> bool:
    """Whether two files are equal, not by their bytes: their notes differ."""
    new = onnx.ModelProto.FromString(new.SerializeToString())
    new.doc_string = "new"
    return verify(*(ONNX.load("m.onnx", given.SerializeToString()) for given in (old, new))).equal


def opaque(given: dict[str, Any]) -> list[str]:
    """Why layers are not covered, in their order."""
    return [*Model(TFLITE.load("m.tflite", write(given)), Numbers()).opaque.values()]


@pytest.mark.parametrize("name", REFUSED)
def test_pairs_that_differ_in_what_was_not_read(name: str) -> None:
    folder = paths.SHARED / "cases" / "verify" / name
    if not folder.exists():
        pytest.skip("no shared cases")
    files = [next(folder.glob(f"{end}.*")) for end in ("a", "b")]
    assert not verify(*(format_of(file.name).load(str(file)) for file in files)).equal


# What a `.tflite` file says beside its graph.


def of_operator(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda given: given["subgraphs"][0]["operators"][0].update(fields)


def of_tensor(number: int, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda given: given["subgraphs"][0]["tensors"][number].update(fields)


def of_file(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda given: given.update(fields)


def of_scale(number: int, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda given: given["subgraphs"][0]["tensors"][number]["quantization"].update(fields)


UNREAD = {
    "custom options": of_operator(custom_options=[1, 2]),
    "variables that it writes": of_operator(mutating_variable_inputs=[True]),
    "tensors inside": of_operator(intermediates=[2]),
    "options of another kind": of_operator(builtin_options_2=("StablehloConcatenateOptions", {"dimension": 1})),
    "the blocks of a sparse tensor": of_tensor(1, sparsity={"traversal_order": [1, 0]}),
    "a buffer in another file": of_tensor(1, external_buffer=1),
    "scales of blocks": of_scale(1, details=("BlockwiseQuantization", {"scales": 1, "block_size": 4})),
    "more zero-points than scales": of_scale(2, zero_point=[0, 3]),
    "a zero-point without a scale": of_scale(2, scale=[], zero_point=[3]),
    "a subgraph that nothing enters": lambda given: given["subgraphs"].append(
        {"name": "more", "tensors": [tensor("x", [1])], "inputs": [0], "outputs": [0], "operators": []}
    ),
    "a plan of the memory": of_file(
        metadata=[{"name": "OfflineMemoryAllocation", "buffer": 2}],
    ),
    "another version": of_file(version=4),
    "an input that is a constant": lambda given: given["subgraphs"][0].update(inputs=[0, 1]),
}  # fmt: skip
"""Things that a file may say, of a convolution with weights in buffer 1."""


@pytest.mark.parametrize("said", UNREAD.values(), ids=UNREAD)
def test_what_is_not_read_of_a_tflite_file_is_refused(said: Callable[[dict[str, Any]], None]) -> None:
    new = conv_model()
    assert equal(conv_model(), conv_model())
    said(new)
    assert not equal(conv_model(), new)
    assert not equal(new, conv_model())


NOTES = {
    "names": lambda given: (of_tensor(1, name="v")(given), given["subgraphs"][0].update(name="other")),
    "a batch that is open": of_tensor(0, shape_signature=[1, 5, 5, 8]),
    "ranges that were measured": of_scale(2, min=[-1.0], max=[2.0]),
    "a description": of_file(description="other"),
    "the version of a runtime": lambda given: given["buffers"].__setitem__(2, {"data": [*b"2.0"]}),
}
"""Things without meaning for what is computed."""


@pytest.mark.parametrize("said", NOTES.values(), ids=NOTES)
def test_notes_do_not_matter(said: Callable[[dict[str, Any]], Any]) -> None:
    new = conv_model()
    said(new)
    assert equal(conv_model(), new)


def test_what_both_files_say_alike_is_equal() -> None:
    """The layer is opaque, its weights may not move, and the digest is of what is said, not of where."""
    old, new = conv_model(), conv_model(description="a longer text that moves all that stands behind it")
    for given in (old, new):
        of_operator(custom_options=[1, 2])(given)
        of_file(metadata=[{"name": "reduced_precision_support", "buffer": 2}])(given)
    assert opaque(old) == ["it has custom_options, of which nothing is known"]
    assert equal(old, new)
    of_operator(custom_options=[1, 3])(new)
    assert not equal(old, new)


def test_types_that_hold_no_numbers_are_told_apart() -> None:
    def resource(kind: str) -> dict[str, Any]:
        return one_operator("NEG", [tensor("x", [4], type=kind, scale=None), tensor("y", [4], type=kind, scale=None)])

    assert equal(resource("VARIANT"), resource("VARIANT"))
    assert not equal(resource("VARIANT"), resource("RESOURCE"))


def test_a_plan_names_tensors_by_number() -> None:
    """So tensors in another order mean another plan."""
    plan = {"metadata": [{"name": "OfflineMemoryAllocation", "buffer": 2}]}
    old, new = conv_model(**plan), conv_model(**plan)
    tensors, (operator,) = new["subgraphs"][0]["tensors"], new["subgraphs"][0]["operators"]
    new["subgraphs"][0].update(tensors=[tensors[0], tensors[2], tensors[1]], outputs=[1])
    operator.update(inputs=[0, 2, -1], outputs=[1])
    assert not equal(old, new)
    for given in (old, new):
        given.update(metadata=[])
    assert equal(old, new)


def test_a_field_that_the_schema_does_not_have_is_refused() -> None:
    """Nobody knows where it ends, so that it is equal to nothing but the same file."""
    longer = {**SCHEMA.tables, "Operator": f"{SCHEMA.tables['Operator']} later:int"}
    later = Schema(SCHEMA.title, SCHEMA.identifier, "Model", longer, SCHEMA.enums, SCHEMA.unions, SCHEMA.scalars)
    files = []
    for description in ("old", "new"):
        given = conv_model(description=description)
        of_operator(later=3)(given)
        files.append(TFLITE.load("m.tflite", write(given, later)))
    assert not verify(*files).equal
    assert verify(files[0], files[0]).equal


@pytest.mark.parametrize(("kind", "summed_in", "covered"), [("INT8", "INT32", True), ("INT16", "INT32", False)])
def test_the_type_of_sums_that_an_option_says_is_refused(kind: str, summed_in: str, covered: bool) -> None:
    """Sums of int16 without a bias have it (tensorflow/lite/micro/kernels/conv.cc); sums of int8 do not ask."""
    given = conv_model()
    of_tensor(0, type=kind)(given)
    of_tensor(2, type=kind)(given)
    assert opaque(given) == []
    given["subgraphs"][0]["operators"][0]["builtin_options"][1]["quantized_bias_type"] = summed_in
    assert (opaque(given) == []) == covered


@pytest.mark.parametrize("op", ["NEG", "ADD", "QUANTIZE", "RESHAPE"])
@pytest.mark.parametrize("given", [{"scale": [0.25]}, {"zero_point": [7]}], ids=str)
def test_scales_of_other_types_than_8_and_16_bits_are_not_read(op: str, given: dict[str, Any]) -> None:
    """LiteRT's ADD of int32 rescales by them, and other kernels do not."""

    def summed(**more: Any) -> dict[str, Any]:
        wide = {"type": "INT32", "quantization": {"scale": [0.5], "zero_point": [0]} | more}
        result = tensor("y", [4]) if op == "QUANTIZE" else tensor("y", [4], **wide)
        more_of = {"ADD": [tensor("v", [4], **wide)]}.get(op, [])
        table = {"ADD": ("AddOptions", {}), "RESHAPE": ("ReshapeOptions", {"new_shape": [4]})}.get(op)
        return one_operator(op, [tensor("x", [4], **wide), *more_of, result], table)

    assert equal(summed(), summed())
    assert not equal(summed(), summed(**given))
    assert opaque(summed())[0].endswith("(int32) has a scale")


# Attributes of `.onnx` files that are no numbers and no text.


def shifted(**attributes: Any) -> onnx.ModelProto:
    node = helper.make_node("RequantShift", ["x", "x", "x"], ["y"], "n", domain="PACTOps", **attributes)
    return model([node], [value("x", [1, 4])], [value("y", [1, 4])], opsets=[("PACTOps", 1)])


def test_a_tensor_that_is_an_attribute_is_refused() -> None:
    div = [numpy_helper.from_array(np.full(size, number, np.float32)) for size in (1, 9000) for number in (1, 2)]
    for number in (0, 2):  # the values of a large one are not in the copy of the model that is parsed
        old, new = (shifted(div=div[number + which]) for which in (0, 1))
        loaded = ONNX.load("m.onnx", old.SerializeToString())
        (left,) = loaded.leftovers().nodes[0]
        assert (left.what, len(left.content)) == ("attribute 'div'", 32)
        assert left != ONNX.load("m.onnx", new.SerializeToString()).leftovers().nodes[0][0]


KINDS = {
    "a type": lambda: helper.make_attribute("more", helper.make_tensor_type_proto(1, [2])),
    "two of a name": lambda: helper.make_attribute("axis", 1),
    "text that is no text": lambda: helper.make_attribute("more", [b"\xff"]),
    "a reference": lambda: onnx.AttributeProto(name="more", ref_attr_name="other", type=2),
    "a sparse tensor": lambda: onnx.AttributeProto(name="more", type=11, sparse_tensor=onnx.SparseTensorProto(
        values=helper.make_tensor("v", 1, [1], [2.0]), indices=helper.make_tensor("i", 7, [1], [0]), dims=[4])),
    "a number that nobody reads": lambda: helper.make_attribute("more", 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_of_other_types_are_refused(kind: str) -> None:
    """Of a layer that is covered else, and of one that is not."""
    for op_type in ("Concat", "Softmax"):
        inputs = ["x", "x"] if op_type == "Concat" else ["x"]
        old = model([helper.make_node(op_type, inputs, ["y"], "n", axis=1)], [value("x", [1, 4])], [value("y", None)])
        new = onnx.ModelProto.FromString(old.SerializeToString())
        assert equal_onnx(old, new)
        new.graph.node[0].attribute.append(KINDS[kind]())
        assert not equal_onnx(old, new)
        if kind in ("a type", "a sparse tensor"):  # of others ONNX's schema tells that the operator has no such one
            assert equal_onnx(new, new)


def test_metadata_that_onnx_runtime_acts_on_are_refused() -> None:
    old = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1, 4])], [value("y", None)])
    for key, covered in (("source", True), ("ort_config", False)):
        new = onnx.ModelProto.FromString(old.SerializeToString())
        new.metadata_props.add(key=key, value="{}")
        assert equal_onnx(old, new) == covered


# Keys that are made up.


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


# Sizes that the file states, and nobody computes.


def test_a_layer_behind_a_size_that_nobody_computes_is_not_covered() -> None:
    """The runtime may make another one: so nothing is said of elements, and the same layers are equal still."""

    def reshaped(taken: list[int]) -> dict[str, Any]:
        tensors = [
            tensor("x", [1, 4]), tensor("n", [1], type="INT32", scale=None), tensor("m", [4]),
            tensor("i", [len(taken)], type="INT32", scale=None, buffer=1), tensor("y", [len(taken)]),
        ]  # fmt: skip
        steps = [
            {"opcode_index": 0, "inputs": [0, 1], "outputs": [2]},
            {"opcode_index": 1, "inputs": [2, 3], "outputs": [4], "builtin_options": ("GatherOptions", {})},
        ]
        main = {"tensors": tensors, "inputs": [0, 1], "outputs": [4], "operators": steps}
        codes, data = [operator_code("RESHAPE"), operator_code("GATHER")], [*np.array(taken, np.int32).tobytes()]
        return {"version": 3, "operator_codes": codes, "subgraphs": [main], "buffers": [{}, {"data": data}]}

    told = "the size of 'm' is what the file states, and not known to be computed"
    assert opaque(reshaped([0, 1, 2, 3])) == [told, told]
    assert equal(reshaped([0, 1, 2, 3]), reshaped([0, 1, 2, 3]))
    assert not equal(reshaped([0, 1]), reshaped([1, 0]))


def test_a_size_that_an_onnx_file_states_and_nobody_computes_is_not_covered() -> None:
    """What a Reshape makes is another input."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["m"]), helper.make_node("Neg", ["m"], ["y"])]
    ends = [value("x", [4]), value("s", [2], onnx.TensorProto.INT64)], [value("y", [1, 4])]
    proto = model(nodes, *ends, value_info=[value("m", [1, 4])])
    loaded = ONNX.load("m.onnx", proto.SerializeToString())
    assert loaded.graph.shape("m") == (1, 4)
    assert "m" not in loaded.computed_sizes()
    reasons = [*Model(loaded, Numbers()).opaque.values()]
    assert reasons == ["the size of 'm' is what the file states, and not known to be computed"] * 2
    assert equal_onnx(proto, proto)


def constant_model(**fields: Any) -> onnx.ModelProto:
    """A sum with a Constant node whose attribute has these fields."""
    attribute = onnx.AttributeProto(name="value_float", **fields)
    constant = onnx.NodeProto(op_type="Constant", output=["c"], attribute=[attribute])
    return model([constant, helper.make_node("Add", ["x", "c"], ["y"])], [value("x", [2])], [value("y", [2])])


def test_a_constant_whose_attribute_is_of_another_type_than_its_name_says_is_not_read() -> None:
    """ONNX Runtime takes the field of the type."""
    both = {"f": 2.0, "i": 3}
    stated, other = (constant_model(type=kind, **both) for kind in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT))
    assert equal_onnx(stated, stated)
    assert not equal_onnx(stated, other)


@pytest.mark.parametrize(
    ("kind", "numbers", "inside"),
    [
        (onnx.TensorProto.BOOL, [15360, 80896], [0, 0]),
        (onnx.TensorProto.INT8, [256, 1], [0, 1]),
        (onnx.TensorProto.UINT8, [-1, 256], [255, 0]),
    ],
)
def test_numbers_that_a_type_does_not_have_are_not_read(kind: int, numbers: list[int], inside: list[int]) -> None:
    def casting(values: list[int]) -> onnx.ModelProto:
        constant = onnx.TensorProto(name="c", data_type=kind, dims=[2], int32_data=values)
        nodes = [helper.make_node("Cast", ["c"], ["f"], to=1), helper.make_node("Add", ["x", "f"], ["y"])]
        return model(nodes, [value("x", [2])], [value("y", [2])], [constant])

    assert equal_onnx(casting(inside), casting(inside))
    assert not equal_onnx(casting(inside), casting(numbers))
