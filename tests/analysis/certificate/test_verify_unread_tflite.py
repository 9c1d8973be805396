"""What a `.tflite` file says beside its graph is refused, unless both files say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.flatbuffer_schema import Schema
from onnxlint_cmsis.formats.format import TFLITE, format_of
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from support import paths
from support.tflite_models import conv_model, one_operator, tensor
from support.tflite_writer import write
from support.written_files import equal, opaque

REFUSED = (
    *("int32_scale_quantize_ADD", "int32_scale_quantize_SUB", "int32_NEG", "int32_zero", "fc_weight_zero_INT8_channel"),
    *("tflite_name_collision", "offline_plan", "transpose_conv_output_shape", "split_stated", "reshape_2d_shape"),
    "quantize_precision",
)
"""Pairs of files that compute other numbers."""


@pytest.mark.parametrize("name", REFUSED)
def test_pairs_that_differ_in_what_was_not_read(name: str) -> None:
    folder = paths.SHARED / "cases" / "verify" / name
    if not folder.exists():
        pytest.skip("no shared cases")
    files = [next(folder.glob(f"{end}.*")) for end in ("a", "b")]
    assert not verify(*(format_of(file.name).load(str(file)) for file in files)).equal


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
