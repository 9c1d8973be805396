"""A `.tflite` file is read number for number, and the same as by the generated accessors of the `tflite` package."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.formats.format import TFLITE, marked_format
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.schema import ENUMS, OPERATORS, SCHEMA, UNIONS
from onnxlint_cmsis.model.graph import StoredQuantization
from onnxlint_cmsis.model.model_error import ModelError
from support import paths
from support.tflite_models import conv_model
from support.tflite_writer import operator_code, write

SHARED = paths.SHARED / "models" / "tflite"


def test_every_number_is_read():
    data = write(conv_model())
    assert marked_format(data[:8]) == TFLITE
    model = read_tflite("m.tflite", data)
    (subgraph,) = model.subgraphs
    x, w, _ = subgraph.tensors
    (conv,) = subgraph.operators
    assert (model.version, model.description, subgraph.name) == (3, "test", "main")
    assert (x.shape, x.signature, x.elem_type, model.is_constant(x)) == ((1, 5, 5, 8), (-1, 5, 5, 8), "INT8", False)
    assert w.quantization is not None
    assert w.quantization.scales == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert model.is_constant(w)
    assert model.bytes_of(w.buffer) == bytes(range(32))
    assert (conv.op, conv.version, conv.inputs, conv.outputs) == ("CONV_2D", 3, (0, 1, -1), (2,))
    assert conv.options["padding"] == "VALID"
    assert conv.options["dilation_w_factor"] == 1
    assert conv.options["fused_activation_function"] == "RELU6"
    assert 0 < conv.span.offset < conv.span.offset + conv.span.length <= len(data)
    assert [model.bytes_of(buffer) for _, buffer in model.metadata] == [b"1.5.0"]
    assert model.signatures[0].inputs == (("x", 0),)


def test_an_axis_is_kept():
    model = conv_model()
    model["subgraphs"][0]["tensors"][1]["quantization"]["quantized_dimension"] = 3
    quantization = read_tflite("m.tflite", write(model)).subgraphs[0].tensors[1].quantization
    assert isinstance(quantization, StoredQuantization)
    assert quantization.axis == 3


def test_unusual_encodings_are_told_apart():
    model = conv_model()
    model["subgraphs"][0]["tensors"][0]["sparsity"] = {"traversal_order": [0, 1]}
    model["subgraphs"][0]["tensors"][1]["quantization"]["details"] = ("BlockwiseQuantization", {"block_size": 32})
    model["subgraphs"][0]["tensors"][2]["external_buffer"] = 1
    tensors = read_tflite("m.tflite", write(model)).subgraphs[0].tensors
    assert [tensor.encoding for tensor in tensors] == ["sparse", "BlockwiseQuantization", "external"]


def test_custom_operators_go_by_their_own_name():
    model = conv_model(operator_codes=[operator_code("CUSTOM", custom_code="FlexErf")])
    operator = read_tflite("m.tflite", write(model)).subgraphs[0].operators[0]
    assert (operator.op, operator.title) == ("CUSTOM", "FlexErf")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda m: m["subgraphs"][0]["operators"][0].update(inputs=[0, 7]),
            "operator 0 (CONV_2D) of subgraph 0 names",
        ),
        (lambda m: m["subgraphs"][0]["operators"][0].update(opcode_index=3), "operator code 3; the file has 1"),
        (lambda m: m["subgraphs"][0].update(outputs=[-1]), "subgraph 0 names tensor -1"),
        (lambda m: m["subgraphs"][0]["tensors"][0].update(buffer=9), "tensor 0 of subgraph 0 names buffer 9"),
        (lambda m: m["subgraphs"][0]["tensors"][0].update(shape=[1, -5]), "a size is at least 0"),
        (lambda m: m["signature_defs"][0].update(subgraph_index=4), "signature 'serving' names subgraph 4"),
        (lambda m: m["metadata"][0].update(buffer=4), "metadata 'min_runtime_version' names buffer 4"),
        (lambda m: m.update(subgraphs=[]), "it has no subgraph"),
        (lambda m: m["buffers"][1].update(offset=64, size=1 << 40), "leads out of the file"),
    ],
)
def test_an_index_that_names_nothing_is_one_sentence(change, words):
    model = conv_model()
    change(model)
    with pytest.raises(ModelError) as caught:
        read_tflite("m.tflite", write(model))
    assert caught.value.kind == "not-a-model"
    assert words in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", "not-a-model", "not a TensorFlow Lite model: the file is empty"),
        (b"\x08\x07\x12\x04text", "not-a-model", "bytes 4 to 7 are not 'TFL3'"),
        (b"\xff\xff\xff\x7fTFL3", "not-a-model", "outside the 8 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 12\n", "lfs-pointer", "git lfs pull"),
    ],
)
def test_other_files_are_refused(data, kind, words):
    with pytest.raises(ModelError) as caught:
        read_tflite("m.tflite", data)
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_every_shorter_file_is_refused_or_read():
    data = write(conv_model())
    for length in range(len(data)):
        try:
            model = read_tflite("m.tflite", data[:length])
        except ModelError as error:
            assert error.kind == "not-a-model"
        else:
            assert length > len(data) - 16
            assert model.subgraphs


def test_a_vector_cannot_claim_more_than_the_file_holds():
    model = conv_model()
    model["subgraphs"][0]["inputs"] = [0] * 1000
    data = bytearray(write(model))
    assert len(read_tflite("m.tflite", bytes(data)).subgraphs[0].inputs) == 1000
    vector = data.index((1000).to_bytes(4, "little"))
    data[vector : vector + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(ModelError, match="claims 2147483648 elements"):
        read_tflite("m.tflite", bytes(data))


def test_thousands_of_tables_at_one_place_cannot_fill_the_memory():
    data = bytearray(write(conv_model(buffers=[{}] * 5000, metadata=None, signature_defs=None)))
    first = data.index((5000).to_bytes(4, "little")) + 4
    table = first + int.from_bytes(data[first : first + 4], "little")
    for position in range(first, first + 4 * 5000, 4):
        data[position : position + 4] = (table - position).to_bytes(4, "little")
    with pytest.raises(ModelError, match="overlap"):
        read_tflite("m.tflite", bytes(data[: table + 4]))


def test_the_schema_is_that_of_the_tflite_package():
    tflite = pytest.importorskip("tflite")
    named = {value: name for name, value in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
    assert all(OPERATORS[value] == name for value, name in named.items())
    types = {value: name for name, value in vars(tflite.TensorType).items() if not name.startswith("_")}
    assert all(ENUMS["TensorType"][value] == name for value, name in types.items())
    unions = {value: name for name, value in vars(tflite.BuiltinOptions).items() if not name.startswith("_")}
    assert all(UNIONS["BuiltinOptions"][value] == name for value, name in unions.items())


def test_options_are_those_of_the_tflite_package():
    tflite = pytest.importorskip("tflite")
    checked = 0
    for kind in UNIONS["BuiltinOptions"][1:]:
        accessors = {name.lower() for name in dir(getattr(tflite, kind)) if not name.startswith("_")}
        for field in SCHEMA.fields(kind):
            assert field.replace("_", "") in accessors or kind == "ResizeBilinearOptions", (kind, field)
            checked += 1
    assert checked > 100


@pytest.mark.skipif(not SHARED.exists(), reason="the third-party models are not beside the project")
def test_real_models_read_as_the_generated_accessors_do():
    tflite = pytest.importorskip("tflite")
    cases = [*sorted(SHARED.glob("*.tflite"))]
    assert cases
    for path in cases:
        data = path.read_bytes()
        theirs, ours = tflite.Model.GetRootAs(data, 0), read_tflite(path, data)
        assert theirs.SubgraphsLength() == len(ours.subgraphs)
        for index, subgraph in enumerate(ours.subgraphs):
            other = theirs.Subgraphs(index)
            assert tuple(other.InputsAsNumpy()) == subgraph.inputs
            assert [(other.Tensors(i).Name() or b"").decode() for i in range(other.TensorsLength())] == [
                tensor.name for tensor in subgraph.tensors
            ]
            for number, operator in enumerate(subgraph.operators):
                assert tuple(other.Operators(number).InputsAsNumpy()) == operator.inputs
                assert other.Operators(number)._tab.Pos == operator.span.offset
