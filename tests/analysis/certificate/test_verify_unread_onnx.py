"""What an `.onnx` file says and nobody reads is refused, unless both files say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.formats.format import ONNX
from support.equal_files import onnx_equal
from support.read_models import model, value


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
        assert onnx_equal(old, new)
        new.graph.node[0].attribute.append(KINDS[kind]())
        assert not onnx_equal(old, new)
        if kind in ("a type", "a sparse tensor"):  # of others ONNX's schema tells that the operator has no such one
            assert onnx_equal(new, new)


def test_metadata_that_onnx_runtime_acts_on_are_refused() -> None:
    old = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1, 4])], [value("y", None)])
    for key, covered in (("source", True), ("ort_config", False)):
        new = onnx.ModelProto.FromString(old.SerializeToString())
        new.metadata_props.add(key=key, value="{}")
        assert onnx_equal(old, new) == covered


def constant_model(**fields: Any) -> onnx.ModelProto:
    """A sum with a Constant node whose attribute has these fields."""
    attribute = onnx.AttributeProto(name="value_float", **fields)
    constant = onnx.NodeProto(op_type="Constant", output=["c"], attribute=[attribute])
    return model([constant, helper.make_node("Add", ["x", "c"], ["y"])], [value("x", [2])], [value("y", [2])])


def test_a_constant_whose_attribute_is_of_another_type_than_its_name_says_is_not_read() -> None:
    """ONNX Runtime takes the field of the type."""
    both = {"f": 2.0, "i": 3}
    stated, other = (constant_model(type=kind, **both) for kind in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT))
    assert onnx_equal(stated, stated)
    assert not onnx_equal(stated, other)


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

    assert onnx_equal(casting(inside), casting(inside))
    assert not onnx_equal(casting(inside), casting(numbers))


def test_values_that_stand_twice_are_refused() -> None:
    """A dense and a sparse initializer of one name: ONNX Runtime takes the sparse one."""

    def summed(*ways: str) -> onnx.ModelProto:
        file = model([helper.make_node("Add", ["x", "c"], ["y"])], [value("x", [4])], [value("y", [4])])
        dense = {name: numpy_helper.from_array(np.full(4, number, np.float32), "c") for name, number in DENSE.items()}
        file.graph.initializer.extend(dense[way] for way in ways if way in dense)
        if "sparse" in ways:
            values, places = helper.make_tensor("c", 1, [1], [2.0]), helper.make_tensor("i", 7, [1], [0])
            file.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))
        return file

    both = summed("ones", "sparse")
    for ways in (("ones",), ("sparse",), ("nines", "sparse"), ("ones", "nines"), ("nines", "ones")):
        assert not onnx_equal(both, summed(*ways))
    assert not onnx_equal(summed("ones", "nines"), summed("nines"))
    assert not onnx_equal(summed("ones", "nines"), summed("ones"))


DENSE = {"ones": 1, "nines": 9}
"""Dense initializers and their only number."""
