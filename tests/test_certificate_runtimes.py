"""`verify` and runtimes: what is equal in one of them and a step off in another is not equal, or the claim names it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import inliner

from onnxlint_cmsis.analysis.certified import verify
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.format import ONNX, TFLITE, format_of
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.runtimes.host.bounds import misread_bias
from onnxlint_cmsis.runtimes.host.difference import difference
from onnxlint_cmsis.runtimes.host.hosts import LITERT, REFERENCE
from onnxlint_cmsis.runtimes.host.layer import HostLayer
from onnxlint_cmsis.runtimes.tflm.interpret import wrong_operators
from support import models, paths
from support.goldens import Told
from support.linter import target_of
from support.proofs import prove
from support.tflite_chains import Chain
from support.tflite_fields import described
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

TOLD_APART = (
    "clip_i64_min", "clip_int64", "conv_vs_fc_INT16_int32", "conv_vs_fc_INT8_int32", "cross_format_max",
    "equal_scales_MUL", "fc_weight_zero_INT8_channel", "q23_scale16", "qgemm_no_zero_cast", "qgemm_no_zero_untyped",
    "quantize_precision", "quantize_scale_float16", "relu_vs_quantize",
)  # fmt: skip
"""Folders of pairs that some runtime tells apart."""


@pytest.mark.parametrize("name", TOLD_APART)
def test_pairs_that_a_runtime_tells_apart_are_not_equal(name: str) -> None:
    folder = paths.SHARED / "cases" / "verify" / name
    if not folder.is_dir():
        pytest.skip("needs the shared cases")
    old, new = (next(folder.glob(f"{side}.*")) for side in "ab")
    assert not verify(*(format_of(path.name).load(str(path)) for path in (old, new))).equal


def rescaled(op: str, scales: tuple[float, float]) -> bytes:
    """All integers of 8 bits in another scale, the least of which is 0."""
    ends = [tensor(name, [1, 256], scale=(scale,)) for name, scale in zip("xy", scales, strict=True)]
    for end in ends:
        end["quantization"]["zero_point"] = [-128]
    return write(one_operator(op, ends, ("QuantizeOptions", {}) if op == "QUANTIZE" else None))


SCALES = [(0.6861367225646973, 0.6550770401954651), (1.6224769353866577, 0.8374074697494507)]
"""Their quotient rounds to other multipliers in float32 and float64."""


@pytest.mark.parametrize("scales", [*SCALES, (0.5, 0.25), (0.75, 0.5)], ids=str)
def test_kernels_that_divide_scales_in_another_precision_are_two(scales: tuple[float, float]) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    files = [rescaled(op, scales) for op in ("RELU", "QUANTIZE")]
    runs = prove(*files, beside=Path("m.tflite"), inputs=range(20))
    equal = verify(*(TFLITE.load("m.tflite", file) for file in files)).equal
    assert equal == runs.equal == (scales not in SCALES)


@pytest.mark.parametrize("op", ["MUL", "ADD"])
def test_equal_scales_for_each_channel_are_not_one(op: str) -> None:
    """LiteRT's kernels read the scale 0 where there are several, those of the device the first."""

    def model(*scales: float) -> bytes:
        held = tensor("w", [1, 4], buffer=1, scale=scales)
        held["quantization"]["quantized_dimension"] = 1
        ends = [tensor(name, [1, 4]) for name in "xy"]
        options = (f"{op.capitalize()}Options", {})
        return write(one_operator(op, [ends[0], held, ends[1]], options, buffers=[{}, {"data": [1, 2, 3, 4]}]))

    one_scale, several = model(0.5), model(0.5, 0.5, 0.5, 0.5)
    assert not verify(*(TFLITE.load("m.tflite", data) for data in (one_scale, several))).equal
    assert verify(*(TFLITE.load("m.tflite", data) for data in (one_scale, one_scale + bytes(4)))).equal


def test_real_numbers_of_two_formats_are_not_compared() -> None:
    """The larger of NaN and 1 is NaN in ONNX Runtime, and 1 in TensorFlow Lite."""
    ends = [tensor(name, [8], scale=None, type="FLOAT32") for name in "xzy"]
    tflite = write(one_operator("MAXIMUM", ends, ("MaximumMinimumOptions", {})))
    file = models.text(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[8] x, float[8] z) => (float[8] y) { y = Max(x, z) }'
    )
    known = verify(ONNX.load("m.onnx", file.SerializeToString()), TFLITE.load("m.tflite", tflite))
    assert known.faults == ("runtimes of two formats take NaN and infinity of 'x' otherwise",)


# Local functions: laid flat, with the operator sets that they import themselves.


def called(opset: int, own: int, node: str = "Softmax(a)") -> onnx.ModelProto:
    return models.text(
        f'<ir_version: 9, opset_import: ["" : {opset}, "local" : 1]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) '
        "{ r = Relu(x) y = local.Curved(r) } "
        f'<domain: "local", opset_import: ["" : {own}]> Curved (a) => (b) {{ b = {node} }}'
    )


def equal(old: onnx.ModelProto, new: onnx.ModelProto) -> bool:
    other = onnx.ModelProto.FromString(new.SerializeToString())
    other.doc_string = "another file"
    return verify(*(ONNX.load("m.onnx", model.SerializeToString()) for model in (old, other))).equal


@pytest.mark.parametrize("node", ["Softmax(a)", "Tanh(a)", "Transpose<perm = [0, 1, 2]>(a)"])
def test_a_local_function_is_what_its_nodes_are(node: str) -> None:
    file = called(13, 13, node)
    flat = inliner.inline_local_functions(file)
    assert not flat.functions and equal(file, flat) and equal(flat, file)


def test_a_local_function_has_the_operator_sets_that_it_imports() -> None:
    """`Softmax` without an axis takes the last one from operator set 13 on, and the last two before."""
    flat = [inliner.inline_local_functions(called(opset, opset)) for opset in (11, 13)]
    mixed = called(13, 11)
    assert equal(mixed, mixed) and not equal(mixed, flat[1])
    ends = ONNX.load("m.onnx", mixed.SerializeToString()).graph.nodes
    assert [node.opset for node in ends] == [13, 11]


# What the command says.


CHAIN = (
    '<ir_version: 8, opset_import: ["" : 13]> g (int8[1, 4] x) => (int8[1, 4] y, int8[1, 4] z) '
    "<float s = {0.1}, float t = {0.3}, int8 o = {0}> "
    "{ r = DequantizeLinear(x, s, o) p = Relu(r) MORE y = QuantizeLinear(q, t, o) "
    "n = Neg(x) z = Transpose<perm = [0, 1]>(n) }"
)


def test_the_claim_names_the_runtimes_for_which_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    """`y` is a rounded sum, whose operands changed places; `z` is the same in any runtime."""
    files = [tmp_path / name for name in ("old.onnx", "new.onnx")]
    for file, more in zip(files, ("q = Add(r, p)", "q = Add(p, r)"), strict=True):
        onnx.save(models.text(CHAIN.replace("MORE", more)), file)
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert {output["name"]: output["runtimes"] for output in outputs} == {
        "y": "TensorFlow Lite Micro and CMSIS-NN", "z": "any",
    }  # fmt: skip
    assert main(["verify", *map(str, files)]) == 0
    told(capsys.readouterr().out)


# An int32 bias of int16 sums: LiteRT reads 64 bits.

OPTIONS = {
    "CONV_2D": ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1}),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    ),
    "FULLY_CONNECTED": ("FullyConnectedOptions", {}),
    "TRANSPOSE_CONV": ("TransposeConvOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1}),
}  # fmt: skip
BIAS = (100, 0, 300, 0, 500, 0)


def wide_sum(op: str, more: str = "", kind: type = np.int32) -> bytes:
    """Each channel times 1 and a bias, ten of which are one step."""
    chain = Chain(1, wide=True)
    count = len(BIAS)
    ends = [1, count] if op == "FULLY_CONNECTED" else [1, 3, 3, count]
    x = chain.activation(ends, 0.001, name="x")
    shape = {"FULLY_CONNECTED": (count, count), "DEPTHWISE_CONV_2D": (1, 1, 1, count)}.get(op, (count, 1, 1, count))
    weights = np.ones(shape, np.int8) if op == "DEPTHWISE_CONV_2D" else np.eye(count, dtype=np.int8).reshape(shape)
    held = chain.constant(weights, [0.01] * count, axis=3 if op == "DEPTHWISE_CONV_2D" else 0)
    bias = chain.constant(np.array(BIAS, kind), [0.00001] * count)
    y = chain.activation(ends, 0.0001, name="y")
    name, options = OPTIONS[op]
    inputs = [x, held, bias]
    if op == "TRANSPOSE_CONV":
        inputs = [chain.constant(np.array(ends, np.int32), []), held, x, bias]
    chain.add(op, inputs, y, (name, {**options, **({"quantized_bias_type": more} if more else {})}))
    return chain.model([x], [y], versions={"CONV_2D": 8, "DEPTHWISE_CONV_2D": 5, "FULLY_CONNECTED": 11})


@pytest.mark.parametrize("more", ["", "INT32"])
@pytest.mark.parametrize("op", ["CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED"])
def test_litert_reads_past_a_bias_where_it_is_told(op: str, more: str) -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")
    data = wide_sum(op, more)
    loaded = TFLITE.load("m.tflite", data)
    graph, resolvers = loaded.graph, interpreter.OpResolverType
    layer = HostLayer(graph, graph.nodes[0], loaded.reader())
    for host, kernels in ((LITERT, resolvers.AUTO), (REFERENCE, resolvers.BUILTIN_REF)):
        runtime = interpreter.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
        runtime.allocate_tensors()
        feed = runtime.get_input_details()[0]
        runtime.set_tensor(feed["index"], np.zeros(feed["shape"], np.int16))
        runtime.invoke()
        result = runtime.get_tensor(runtime.get_output_details()[0]["index"]).reshape(-1, len(BIAS))[0]
        right = result.tolist() == [10, 0, 30, 0, 50, 0]
        assert right == (host not in misread_bias(graph, layer.node))
        assert right == (difference(layer, host).bound.steps is not None)


def test_litert_does_not_load_a_depthwise_layer_with_a_short_bias() -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="needs the extra `tflite`")
    with pytest.raises(RuntimeError, match="kTfLiteInt64"):
        interpreter.Interpreter(model_content=wide_sum("DEPTHWISE_CONV_2D")).allocate_tensors()


@pytest.mark.parametrize(
    ("op", "more"), [*((op, "") for op in OPTIONS), *((op, "INT32") for op in OPTIONS if "DEPTH" not in op)]
)
def test_a_short_bias_is_said_where_litert_reads_past_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told, op: str, more: str
) -> None:
    files = [tmp_path / name for name in ("old.tflite", "new.tflite")]
    files[0].write_bytes(wide_sum(op, more))
    files[1].write_bytes(wide_sum(op, more) + bytes(4))
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    litert = op != "DEPTHWISE_CONV_2D" and not more
    device = op in ("DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")
    assert report["outputs"][0]["runtimes"] == {
        (True, False): "TensorFlow Lite Micro and CMSIS-NN", (False, False): "any",
        (True, True): "TensorFlow Lite's specification", (False, True): "any but TensorFlow Lite Micro",
    }[litert, device]  # fmt: skip
    assert [("past its end" in note) for note in report["notes"]] == [True] * (litert + device)
    if litert or device:
        assert main(["verify", *map(str, files)]) == 0
        told(capsys.readouterr().out)


# A bias of another type than kernels read.


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
@pytest.mark.parametrize("op", [*OPTIONS])
def test_a_bias_of_another_type_is_not_equal_and_wrong_on_the_device(op: str, kind: type) -> None:
    """TensorFlow Lite Micro's kernels ask for one type of bias, and read the file's as that."""
    device = pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    data = wide_sum(op, kind=kind)
    loaded = TFLITE.load("m.tflite", data)
    try:
        runtime = device.runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
        runtime.set_input(np.zeros(runtime.get_input_details(0)["shape"], np.int16), 0)
        runtime.invoke()
        right = np.array(runtime.get_output(0)).reshape(-1, len(BIAS))[0].tolist() == [10, 0, 30, 0, 50, 0]
    except RuntimeError:
        right = True  # it says that it does not run
    assert right == (not wrong_operators(loaded.file, target_of()))
    if kind is np.int16:
        assert not verify(loaded, TFLITE.load("m.tflite", wide_sum(op, kind=np.int64))).equal


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_a_bias_of_64_bits_under_sums_of_8_is_wrong(op: str) -> None:
    """Kernels read the halves of one number as two."""
    model = described(root_of(SCHEMA, wide_sum(op, kind=np.int64)))
    for held in model["subgraphs"][0]["tensors"]:
        if held["type"] == "INT16":
            held["type"] = "INT8"
    loaded = TFLITE.load("m.tflite", write(model))
    (wrong,) = wrong_operators(loaded.file, target_of())
    assert "is INT64, and the kernel reads INT32" in wrong.reason
    narrow = copy.deepcopy(model)
    for held in narrow["subgraphs"][0]["tensors"]:
        if held["type"] == "INT64":
            held["type"] = "INT32"
            narrow["buffers"][held["buffer"]]["data"] = [*np.array(BIAS, np.int32).tobytes()]
    right = TFLITE.load("m.tflite", write(narrow))
    assert not wrong_operators(right.file, target_of())
    assert not verify(right, loaded).equal


# Layers of which the device makes wrong values.


def compared(op: str, *types: str, rank: int = 4) -> bytes:
    """A comparison of inputs of two types."""
    ends = [tensor(name, [2] * rank, type=kind) for name, kind in zip("xz", types, strict=True)]
    return write(one_operator(op, [*ends, tensor("y", [2] * rank, scale=None, type="BOOL")]))


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (compared("GREATER_EQUAL", "INT32", "INT8"), True), (compared("LESS", "INT8", "INT8"), False),
        (compared("GREATER", "INT16", "INT16"), True), (compared("LOGICAL_OR", "BOOL", "BOOL"), False),
    ],
)  # fmt: skip
def test_a_layer_that_the_device_computes_wrongly_is_said(
    data: bytes, wrong: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    files = [tmp_path / name for name in ("old.tflite", "new.tflite")]
    files[0].write_bytes(data)
    files[1].write_bytes(data + bytes(4))
    assert main(["verify", *map(str, files), "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["outputs"][0]["runtimes"] == ("any but TensorFlow Lite Micro" if wrong else "any")
    assert len(report["notes"]) == wrong
    if wrong:
        assert main(["verify", *map(str, files)]) == 0
        told(capsys.readouterr().out)


def test_a_result_that_the_device_leaves_in_part_is_not_equal() -> None:
    """The file says one image, and four come out: the device writes one, and reads four."""
    ends = [tensor("x", [1, 4, 4, 1]), tensor("y", [1, 2, 2, 1])]
    held = [
        tensor(name, [2] * rank, number, scale=None, type="INT32") for name, rank, number in (("b", 1, 1), ("p", 2, 2))
    ]
    buffers = [{}, {"data": [2, 0, 0, 0] * 2}, {"data": [0] * 16}]
    model = one_operator("SPACE_TO_BATCH_ND", [ends[0], *held, ends[1]], buffers=buffers)
    known = verify(*(TFLITE.load("m.tflite", write({**model, "description": text})) for text in "ab"))
    assert "(stated, made): [((1, 2, 2, 1), (4, 2, 2, 1))]" in known.faults[0]


@pytest.mark.parametrize("op", [*OPTIONS])
def test_weights_of_another_type_are_not_equal(op: str) -> None:
    """LiteRT's kernels read int16 weights as int8, those of the device refuse them or do the same."""
    model = described(root_of(SCHEMA, wide_sum(op, kind=np.int64)))
    wide = copy.deepcopy(model)
    held = next(entry for entry in wide["subgraphs"][0]["tensors"] if entry["type"] == "INT8")
    held["type"] = "INT16"
    values = np.array(wide["buffers"][held["buffer"]]["data"], np.uint8).view(np.int8)
    wide["buffers"][held["buffer"]]["data"] = [*values.astype(np.int16).tobytes()]
    assert not verify(*(TFLITE.load("m.tflite", write(file)) for file in (model, wide))).equal


@pytest.mark.parametrize("op", ["ADD", "MUL", "MAXIMUM", "SUB"])
def test_a_constant_operand_of_another_type_is_not_equal(op: str) -> None:
    """Kernels read it as one of the type that the other operand has."""

    def model(kind: type) -> bytes:
        held = tensor("w", [1, 4], buffer=1, type=np.dtype(kind).name.upper())
        ends = [tensor(name, [1, 4]) for name in "xy"]
        options = None if op == "MAXIMUM" else (f"{op.capitalize()}Options", {})
        buffers = [{}, {"data": [*np.array([1, 2, 3, 4], kind).tobytes()]}]
        return write(one_operator(op, [ends[0], held, ends[1]], options, buffers=buffers))

    assert not verify(*(TFLITE.load("m.tflite", model(kind)) for kind in (np.int8, np.int16))).equal
