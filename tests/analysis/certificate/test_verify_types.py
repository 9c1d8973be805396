"""`verify` and types: what an operator makes is the operator's to say, and integers are compared as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX
from onnxlint_cmsis.formats.onnx.same_versions import SAME_MEANING
from onnxlint_cmsis.formats.onnx.signatures import defaults

MICROSOFT = "com.microsoft"
HELD = {
    "s": np.float32(0.1), "t": np.float32(np.float16(1000)), "h": np.float16(1000), "z": np.uint8(3), "n": np.int8(0),
    "w": np.arange(16, dtype=np.int8).reshape(4, 4),
}  # fmt: skip
KINDS = {"x": ("float32", [1, 4]), "u": ("uint8", [1, 4]), "i": ("int64", [4]), "j": ("uint64", [4]),
         "e": ("float16", [1, 4]), "f": ("float16", [4])}  # fmt: skip


def model(*nodes: onnx.NodeProto, opset: int = 13, stated: str = "", **held: object) -> onnx.ModelProto:
    """Nodes that read inputs of KINDS and constants, and make `y` of a type that is stated, or not."""
    constants = {name: np.asarray(value) for name, value in {**HELD, **held}.items()}
    read = {name for node in nodes for name in node.input}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)
        for name, (kind, shape) in KINDS.items()
        if name in read
    ]
    end = onnx.ValueInfoProto(name="y")
    if stated:
        end.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(stated))
    kept = [numpy_helper.from_array(value, name) for name, value in constants.items() if name in read]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    graph = helper.make_graph(list(nodes), "g", inputs, [end], kept)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op: str, inputs: str, output: str = "y", domain: str = "", **attributes: object) -> onnx.NodeProto:
    names = [name.replace("-", "") for name in inputs.split()]
    return helper.make_node(op, names, [output], domain=domain, **attributes)


def equal(old: onnx.ModelProto, new: onnx.ModelProto) -> bool:
    """Whether files are equal for every input, for another reason than that they have the same bytes."""
    old, new = (onnx.ModelProto.FromString(file.SerializeToString()) for file in (old, new))
    new.doc_string = "another file"
    return verify(*(ONNX.load("m.onnx", file.SerializeToString()) for file in (old, new))).equal


def test_a_file_equals_its_own_bytes(tmp_path: Path) -> None:
    """Of external data too; numbers that are drawn are no difference between two files that are one."""
    drawn = model(helper.make_node("RandomNormal", [], ["y"], shape=[2])).SerializeToString()
    assert verify(ONNX.load("a.onnx", drawn), ONNX.load("b.onnx", drawn)).equal
    paths = [tmp_path / name / "m.onnx" for name in "abc"]
    for path in paths:
        path.parent.mkdir()
        held = np.full((4, 4), path.parent.name == "c", np.float32)
        file = model(node("Unregistered", "x e"), e=held)
        onnx.save(file, path, save_as_external_data=True, size_threshold=0, location="m.data")
    assert len({path.read_bytes() for path in paths}) == 1
    old, same, other = (ONNX.load(str(path)) for path in paths)
    assert verify(old, same).equal and not verify(old, other).equal
    (tmp_path / "b" / "m.data").unlink()
    assert not verify(old, ONNX.load(str(paths[1]))).equal


def qgemm(inputs: str, output: str = "y") -> onnx.NodeProto:
    return node("QGemm", inputs, output, MICROSOFT)


@pytest.mark.parametrize("behind", [[], [node("Cast", "g", to=1)]], ids=["untyped", "cast"])
def test_a_product_without_the_zero_point_of_its_result_is_real(behind: list[onnx.NodeProto]) -> None:
    files = [model(qgemm(f"u s z w s n - s{end}", "g" if behind else "y"), *behind) for end in (" z", "")]
    assert not equal(*files)
    assert all(equal(file, file) for file in files)


PRECISIONS = {
    "precision": ("x h n", {"precision": 1}, "x h n"),
    "precision of a scale of float32": ("x s n", {"precision": 10}, "x s n"),
    "type of the scale": ("x h n", {}, "x t n"),
    "output_dtype": ("x s", {"output_dtype": 3}, "x s"),
}


@pytest.mark.parametrize("case", PRECISIONS.values(), ids=PRECISIONS)
def test_the_precision_of_a_quantization_counts(case: tuple[str, dict[str, object], str]) -> None:
    inputs, attributes, other = case
    old = model(node("QuantizeLinear", inputs, **attributes), opset=23)
    assert equal(old, old) and not equal(old, model(node("QuantizeLinear", other), opset=23))


def test_the_precision_that_a_scale_has_may_be_said() -> None:
    old, new = (model(node("QuantizeLinear", "x s n", **more), opset=23) for more in ({}, {"precision": 1}))
    assert equal(old, new)


def test_the_type_of_real_numbers_may_be_said_beside_the_scale() -> None:
    named = [model(node("DequantizeLinear", "u s z", output_dtype=kind), opset=23) for kind in (0, 1, 10)]
    assert equal(named[0], named[1]) and not equal(named[0], named[2])


@pytest.mark.parametrize("stated", ["int8", "float32"])
def test_a_type_that_the_file_states_and_the_operator_does_not_make_is_not_covered(stated: str) -> None:
    """`Cast` makes int16, whatever stands at the output."""
    file = model(node("Cast", "x", to=5), stated=stated)
    assert not equal(file, file) and equal(*[model(node("Cast", "x", to=5), stated="int16")] * 2)


def test_options_that_the_operator_set_does_not_have_make_no_type() -> None:
    old, new = (model(node("QuantizeLinear", "x s n", **more), opset=13) for more in ({}, {"saturate": 0}))
    assert not equal(old, new) and not equal(new, new)


BOUNDS = {
    "above 2**53": ("i", np.int64(0), (np.int64(2**53), np.int64(2**53 + 1))),
    "near the least": ("i", np.int64(5), (np.int64(-(2**63)), np.int64(-(2**63) + 300))),
    "unsigned": ("j", np.uint64(0), (np.uint64(2**64 - 1), np.uint64(2**64 - 2))),
}


@pytest.mark.parametrize("case", BOUNDS.values(), ids=BOUNDS)
def test_whole_bounds_are_not_rounded(case: tuple[str, np.generic, tuple[np.generic, np.generic]]) -> None:
    name, other, ends = case
    files = [model(node("Clip", f"{name} a b"), a=min(other, end), b=max(other, end)) for end in ends]
    assert not equal(*files) and equal(files[0], files[0])


@pytest.mark.parametrize("op", ["Add", "Mul", "Max", "Concat"])
@pytest.mark.parametrize("name", ["i", "j"])
def test_whole_constants_are_not_rounded(op: str, name: str) -> None:
    kind, more = np.dtype(KINDS[name][0]).type, {"axis": 0} if op == "Concat" else {}
    files = [model(node(op, f"{name} a", **more), a=np.full(4, 2**53 + end, kind)) for end in (0, 1)]
    assert not equal(*files) and equal(files[0], files[0])


def test_folded_integers_keep_their_type() -> None:
    """A sum of int32 is one of int32, also where it is worked out to tell a shape."""
    kinds = [np.int32, np.int64]
    files = [
        model(
            node("Add", "a a", "c"), node("Cast", "c", "d", to=7), node("Reshape", "x d", "e"), node("Identity", "c"),
            a=np.array([2], kind),
        )
        for kind in kinds
    ]  # fmt: skip
    graphs = [ONNX.load("m.onnx", file.SerializeToString()).graph for file in files]
    assert [graph.elem_type("c") for graph in graphs] == ["int32", "int64"]
    assert not equal(*files) and equal(files[0], files[0])


@pytest.mark.parametrize("step", [("Relu", 13, 14), ("Softmax", 7, 11), ("Transpose", 13, 21), ("Exp", 6, 13)], ids=str)
def test_versions_of_an_operator_that_mean_the_same_are_one(step: tuple[str, int, int]) -> None:
    op, *opsets = step
    assert equal(*(model(node(op, "x"), opset=opset) for opset in opsets))


def test_an_attribute_may_say_what_the_operator_set_takes_anyway() -> None:
    for op, usual, other in (("LeakyRelu", 0.01, 0.02), ("Elu", 1.0, -0.0)):
        files = [model(node(op, "x", **given)) for given in ({}, {"alpha": usual}, {"alpha": other})]
        assert equal(files[0], files[1]) and not equal(files[0], files[2])
    assert not equal(model(node("ThresholdedRelu", "x", alpha=0.0)), model(node("ThresholdedRelu", "x", alpha=-0.0)))
    assert not equal(model(node("Softmax", "x"), opset=12), model(node("Softmax", "x", axis=-1), opset=12))


def test_versions_that_mean_the_same_take_the_same_where_nothing_is_stated() -> None:
    assert SAME_MEANING
    for op_type, groups in SAME_MEANING.items():
        for versions in groups:
            told = [defaults("", op_type, version) for version in versions]
            for name in {name for known in told for name in known}:
                assert len({known[name] for known in told if name in known}) == 1, (op_type, versions, name)


def test_versions_of_an_operator_that_mean_something_else_are_two() -> None:
    assert not equal(*(model(node("Softmax", "x", axis=1), opset=opset) for opset in (12, 13)))


@pytest.mark.parametrize("step", [("Max", 9, 13), ("Min", 9, 13), ("PRelu", 13, 16), ("Mish", 18, 22)], ids=str)
def test_versions_of_an_operator_that_computes_halves_are_two(step: tuple[str, int, int]) -> None:
    """ONNX Runtime computes one version in float32 and the other in halves: zeros and NaN come out otherwise."""
    op, *opsets = step
    inputs = "e" if op == "Mish" else "e f"
    assert not equal(*(model(node(op, inputs), opset=opset) for opset in opsets))
    assert equal(*(model(node(op, inputs.replace("e", "x").replace("f", "x")), opset=opset) for opset in opsets))


TURNS = [node("Transpose", "p", "r", perm=[1, 0]), node("Transpose", "r", "q", perm=[1, 0])]


@pytest.mark.parametrize("between", [TURNS, [node("Identity", "p", "q")], [node("Reshape", "p l", "q")]], ids=len)
def test_what_stands_between_layers_of_halves_counts(between: list[onnx.NodeProto]) -> None:
    """ONNX Runtime leaves the result of Exp in float32 where Sin reads it, and rounds it for a Transpose."""
    plain = [node("Exp", "e", "q"), node("Sin", "q")]
    moved = [node("Exp", "e", "p"), *between, node("Sin", "q")]
    shape = {"l": np.array([1, 4])}
    assert not equal(model(*plain, **shape), model(*moved, **shape))
    assert equal(model(*moved, **shape), model(*moved, **shape))


def test_another_reader_of_a_half_counts() -> None:
    """It decides whether ONNX Runtime rounds a result before the layer behind it reads it."""
    steps = [node("Exp", "e", "p"), node("Relu", "p", "q"), node("Sin", "q")]
    more = [*steps, node("Transpose", "q", "r", perm=[1, 0])]
    assert equal(model(*steps), model(*steps)) and not equal(model(*steps), model(*more))


def test_names_of_halves_do_not_count() -> None:
    assert equal(model(node("Exp", "e", "p"), node("Sin", "p")), model(node("Exp", "e", "q"), node("Sin", "q")))


def test_halves_that_are_stored_are_read_as_they_are() -> None:
    """Weights in halves that a Cast takes to float32 are constants."""
    files = [model(node("Cast", "h", "c", to=1), node("Add", f"x {end}"), *more)
             for end, more in (("c", []), ("c", [node("Identity", "c", "i")]))]  # fmt: skip
    assert equal(*files)
