"""`.pte` files: every value and call is read, and a damaged file gives a sentence."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from onnxlint_cmsis.cli import api
from onnxlint_cmsis.formats.format import BPTE, PTE, marked_format
from onnxlint_cmsis.formats.pte.program import read_program
from onnxlint_cmsis.formats.pte.program_records import BundledTensor, PteTensor
from onnxlint_cmsis.formats.pte.to_graph import load_pte
from onnxlint_cmsis.model.model_error import ModelError
from support.goldens import Told
from support.pte_writer import NHWC, PteWriter, bundle, program


def small() -> PteWriter:
    """A convolution, a view that was left out, and a dense layer."""
    writer = PteWriter()
    image = writer.image(1, 4, 1, 1)
    writer.inputs.append(image)
    result = writer.convolution(image, (1, 4, 1, 1), (1, 8, 1, 1), 1, 0)
    allocation = dict(writer.values[result]["val"][1]["allocation_info"])
    view = writer.tensor("int8", (1, 8), allocation_info=allocation)
    writer.outputs.append(writer.linear(view, 8, 3, bias=[1, 2, 3]))
    return writer


def test_every_value_and_call_is_read() -> None:
    data = small().data()
    assert marked_format(data) == PTE
    (method,) = read_program("m.pte", data).methods
    assert (method.name, len(method.steps), method.inputs, method.pools) == ("forward", 2, (0,), (0, 64))
    first, second = method.steps
    assert (first.kind, first.name) == ("KernelCall", "cortex_m::quantized_conv2d.out")
    assert second.name == "cortex_m::quantized_linear.out"
    image = method.values[0]
    assert isinstance(image, PteTensor)
    assert (image.elem_type, image.sizes, image.order, image.pool, image.shape) == (
        "int8", (1, 4, 1, 1), NHWC, 1, (1, 1, 1, 4),
    )  # fmt: skip
    assert [value for value in method.values if isinstance(value, int)].count(128) == 2


def test_arguments_have_the_names_of_the_operator() -> None:
    loaded = load_pte("m.pte", data=small().data())
    convolution, dense = loaded.calls
    assert convolution.numbers_of("stride") == (1, 1)
    assert convolution.number_of("input_offset") == 128
    assert dense.arguments["kernel_sum"] is None
    bias = dense.tensor("bias")
    assert bias is not None
    assert loaded.program.numbers_of(bias) == (1, 2, 3)


def test_a_call_may_write_what_it_reads() -> None:
    writer = PteWriter()
    image = writer.image(1, 4, 2, 2)
    writer.inputs.append(image)
    add = [(image,), 3, 1 << 30, 0, (image,), 4, 1 << 30, 0, 0, 1 << 30, 0, -128, 127]
    writer.outputs.append(writer.call("cortex_m::quantized_add.out", *add, out=image))
    (call,) = load_pte("m.pte", data=writer.data()).calls
    assert (call.operands, call.results) == ((image, image), (image,))
    assert (call.number_of("self_zero_point"), call.number_of("other_zero_point")) == (3, 4)


@pytest.mark.parametrize("number", [0.5, math.inf, math.nan])
def test_a_number_of_double_precision_is_read_as_it_is(number: float) -> None:
    writer = PteWriter()
    image = writer.image(1, 1, 2, 2)
    writer.call("aten::mul.Scalar_out", (image,), number, out=image)
    (method,) = read_program("m.pte", writer.data()).methods
    assert [repr(value) for value in method.values if isinstance(value, float)] == [repr(number)]


def test_tensors_that_are_one_in_memory_are_one_in_the_graph() -> None:
    graph = load_pte("m.pte", data=small().data()).graph
    convolution, dense = graph.nodes
    assert dense.inputs[0] == convolution.outputs[0]
    assert graph.shape(convolution.outputs[0]) == (1, 1, 1, 8)
    assert (graph.inputs, graph.outputs) == (("input0",), dense.outputs)


def test_constants_are_read_as_they_are_stored() -> None:
    writer = PteWriter()
    weights = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    stored = writer.constant(weights)
    writer.call("aten::add.out", (stored,), (stored,), out=writer.tensor("int8", (2, 3, 4)))
    loaded = load_pte("m.pte", data=writer.data())
    read = loaded.reader()
    (key,) = loaded.constants
    assert np.array_equal(read(key), weights)
    assert read("no constant") is None
    assert loaded.graph.constants[key].values() == tuple(range(24))


def test_methods_are_told_apart() -> None:
    plans = []
    for name in ("forward", "other"):
        writer = PteWriter()
        source = writer.tensor("float32", (4,))
        result = writer.call("aten::relu.out", (source,), out=writer.tensor("float32", (4,)))
        plans.append(
            {
                "name": name, "values": writer.values, "inputs": [source], "outputs": [result],
                "chains": [{"instructions": writer.instructions}], "operators": [{"name": "aten::relu"}],
                "non_const_buffer_sizes": [0, writer.planned],
            }
        )  # fmt: skip
    graph = load_pte("m.pte", data=program(plans)).graph
    assert [node.label for node in graph.nodes] == ["relu#0", "other:relu#0"]
    assert graph.inputs == ("input0", "other/input0")


def test_what_is_not_looked_at_is_said() -> None:
    writer = PteWriter()
    outside = {"fully_qualified_name": "w", "location": "EXTERNAL"}
    weights = writer.tensor("int8", (4,), allocation_info=None, extra_tensor_info=outside)
    grown = writer.tensor("int8", (4,), shape_dynamism="DYNAMIC_BOUND")
    writer.call("aten::add.out", (grown,), (weights,), out=writer.tensor("int8", (4,)))
    writer.instructions.append({"instr_args": ("JumpFalseCall", {"cond_value_index": 0})})
    problems = [problem.message for problem in load_pte("m.pte", data=writer.data()).graph.problems]
    said = ("lie in another file", "the largest ones are judged", "in the order of the file")
    assert [words in text for words, text in zip(said, problems, strict=True)] == [True] * 3


def test_a_bundle_is_its_program_and_its_test_cases() -> None:
    inside = small().data()
    given, expected = np.arange(4, dtype=np.int8).reshape(1, 4, 1, 1), np.zeros((1, 3), np.int8)
    data = bundle(inside, ([given], [expected]), ([given, 3, True, 0.5], []))
    assert marked_format(data) == BPTE
    read = read_program("m.bpte", data)
    assert read.methods == read_program("m.pte", inside).methods
    first, second = read.cases
    (tensor,) = first.inputs
    assert isinstance(tensor, BundledTensor)
    assert first.method == "forward"
    assert (tensor.elem_type, tensor.sizes, tensor.data) == ("int8", (1, 4, 1, 1), bytes(range(4)))
    assert (second.inputs[1:], second.outputs) == ((3, True, 0.5), ())
    nodes = zip(load_pte("m.bpte", data=data).graph.nodes, load_pte("m.pte", data=inside).graph.nodes, strict=True)
    assert {ours.offset - theirs.offset for ours, theirs in nodes} == {data.index(inside)}
    alike = [api.lint(file, targets=["cortex-m4"]) for file in (data, inside)]
    assert alike[0].verdicts == alike[1].verdicts
    assert alike[0].notes == alike[1].notes


def test_a_damaged_bundle_gives_a_sentence() -> None:
    inside, given = small().data(), np.zeros((1, 4, 1, 1), np.int8)
    data = bundle(inside, ([given], []))
    with pytest.raises(ModelError, match="not an ExecuTorch program: bytes 4 to 7"):
        read_program("m.bpte", data.replace(b"ET12", b"ET99"))
    sizes = struct.pack("<5I", 4, 1, 4, 1, 1)
    at = data.index(sizes)
    with pytest.raises(ModelError, match="tensor of a test case has 4 bytes; its sizes and type take 12"):
        read_program("m.bpte", data[:at] + struct.pack("<5I", 4, 1, 4, 3, 1) + data[at + len(sizes) :])


def wrong(**changes: object) -> bytes:
    return small().data(**changes)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not an ExecuTorch program: the file is empty"),
        (b"something else entirely", "not an ExecuTorch program: bytes 4 to 7 are not 'ET12'"),
        (wrong(inputs=[99]), "names value 99"),
        (wrong(non_const_buffer_sizes=[0, 16]), "of planned buffer 1, which has 16"),
        (wrong(non_const_buffer_sizes=[0]), "names planned buffer 1"),
        (wrong(operators=[]), "names operator 0"),
        (program([]), "it has no method"),
        (program([{"name": "x"}, {"name": "y"}, {"name": "x"}]), "several methods with the name 'x'"),
        (wrong(non_const_buffer_sizes=[0, 64, -1]), "planned buffer 2 of method 'forward' has -1 bytes"),
    ],
)
def test_a_damaged_file_gives_a_sentence(data: bytes, text: str) -> None:
    with pytest.raises(ModelError) as error:
        read_program("m.pte", data)
    assert error.value.kind == "not-a-model"
    assert text in error.value.message


def test_segments_lie_in_the_file() -> None:
    data = small().data()
    with pytest.raises(ModelError, match="outside the file"):
        load_pte("m.pte", data=data[:-8])
    with pytest.raises(ModelError, match="no extended header"):
        load_pte("m.pte", data=data[:8] + b"none" + data[12:])
    short = data[:12] + struct.pack("<I", 8) + data[16:]
    with pytest.raises(ModelError, match="extended header has 8 bytes"):
        load_pte("m.pte", data=short)


def test_random_damage_ends_in_a_sentence_or_a_report() -> None:
    data, chance = small().data(), random.Random(3)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 2, 4])):
            damaged[chance.randrange(len(data))] = chance.choice([0, 1, 127, 128, 255])
        try:
            load_pte("m.pte", data=bytes(damaged))
        except ModelError as error:
            assert error.kind == "not-a-model"
            continue
        api.lint(bytes(damaged), targets=["cortex-m4", "cortex-m55"])


def test_a_program_is_found_linted_and_not_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    from onnxlint_cmsis.cli.main import main

    path = tmp_path / "m.pte"
    path.write_bytes(small().data())
    options = ["--isolated", "--target", "cortex-m4", "--output-format", "json"]
    assert main([*options, str(tmp_path)]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["summary"]["targets"][0]["cmsis_nn"]["layers"] == 2
    assert main([*options, "--fix-only", str(path)]) == 2
    (file,) = json.loads(capsys.readouterr().out)["files"]
    told(file["fix"]["reason"])
    assert file["fix"]["reason"].endswith("target_config=CortexMTargetConfig(CortexM.M4))")
