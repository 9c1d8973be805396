"""`.tflite` models as firmware: calls of TensorFlow Lite Micro on a board, outputs against LiteRT."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from firmware_check.errors import FirmwareError
from firmware_check.library import open_library
from firmware_check.program import Quantization
from firmware_check.tflite import litert_reference
from firmware_check.tflite.litert_reference import LiteRtReference
from firmware_check.tflite.program import tflite_program
from firmware_check.tflite.state import bounds
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support import paths
from support.firmware_runs import check, data, needs_firmware
from support.firmware_signatures import EverythingLibrary
from support.tflite_models import one_operator, tensor
from support.tflite_steps import random_chain
from support.tflite_writer import operator_code, write

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert (extra tflite) is not installed here"
)
THIRD_PARTY = paths.SHARED / "models" / "tflite"
needs_models = pytest.mark.skipif(not THIRD_PARTY.exists(), reason="the third-party models are not beside the project")
WHOLE = os.environ.get("ONNXLINT_CMSIS_NN", "")
"""A whole checkout of CMSIS-NN; without one the part of 4.0.0 that bakenn carries does."""
LIBRARY = ["--cmsis-nn", WHOLE] if WHOLE else []
PLAIN = {"padding": "SAME", "stride_w": 1, "stride_h": 1}


def numbers(count, step=37):
    return [(index * step) % 255 - 127 for index in range(count)]


def little(values, width=1):
    return [byte for value in values for byte in int(value).to_bytes(width, "little", signed=True)]


def network(shift=0):
    """Convolution, depthwise convolution, a sum with the convolution, average, dense layer, softmax."""
    per_channel = tuple(0.01 + 0.001 * index for index in range(4))
    tensors = [
        tensor("x", [1, 6, 6, 4], scale=(0.05,)),
        tensor("w", [4, 3, 3, 4], buffer=1, scale=per_channel),
        {**tensor("b", [4], buffer=2, scale=tuple(0.05 * scale for scale in per_channel)), "type": "INT32"},
        tensor("c", [1, 6, 6, 4], scale=(0.08,)),
        tensor("v", [1, 3, 3, 4], buffer=3, scale=(0.02,)),
        {**tensor("d", [4], buffer=2, scale=(0.0016,)), "type": "INT32"},
        tensor("e", [1, 6, 6, 4], scale=(0.06,)),
        tensor("f", [1, 6, 6, 4], scale=(0.09,)),
        tensor("g", [1, 1, 1, 4], scale=(0.09,)),
        {**tensor("s", [2], buffer=4, scale=None), "type": "INT32"},
        tensor("h", [1, 4], scale=(0.09,)),
        tensor("m", [3, 4], buffer=5, scale=(0.0005,)),
        {**tensor("n", [3], buffer=6, scale=(0.000045,)), "type": "INT32"},
        tensor("k", [1, 3], scale=(0.03,)),
        tensor("y", [1, 3], scale=(1 / 256,)),
    ]
    tensors[14]["quantization"]["zero_point"] = [-128]
    tensors[1]["quantization"]["quantized_dimension"] = 0
    names = ("CONV_2D", "DEPTHWISE_CONV_2D", "ADD", "AVERAGE_POOL_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX")
    window = {"padding": "VALID", "stride_w": 6, "stride_h": 6, "filter_width": 6, "filter_height": 6}
    rows = [
        (0, [0, 1, 2], [3], ("Conv2DOptions", {**PLAIN, "fused_activation_function": "RELU"})),
        (1, [3, 4, 5], [6], ("DepthwiseConv2DOptions", {**PLAIN, "depth_multiplier": 1})),
        (2, [3, 6], [7], ("AddOptions", {"fused_activation_function": "RELU6"})),
        (3, [7], [8], ("Pool2DOptions", window)),
        (4, [8, 9], [10], None),
        (5, [10, 11, 12], [13], ("FullyConnectedOptions", {})),
        (6, [13], [14], ("SoftmaxOptions", {"beta": 1.0})),
    ]
    operators = [
        {"opcode_index": code, "inputs": read, "outputs": written, "builtin_options": options}
        for code, read, written, options in rows
    ]
    buffers = [
        {},
        {"data": little(numbers(144))},
        {"data": little([300, -200, 100, 0], 4)},
        {"data": little(numbers(36, 53))},
        {"data": little([1, 4], 4)},
        {"data": little(numbers(12, 91))},
        {"data": little([5 + shift, -5, 60], 4)},
    ]
    return write(
        {
            "version": 3,
            "operator_codes": [operator_code(name) for name in names],
            "subgraphs": [{"tensors": tensors, "inputs": [0], "outputs": [14], "operators": operators}],
            "buffers": buffers,
        }
    )


def program_of(model):
    return tflite_program(read_tflite("m.tflite", model), open_library(""))


def test_layers_are_the_calls_of_the_interpreter():
    program = program_of(network())
    assert [(step.label, step.form.removeprefix("reference_")) for step in program.steps] == [
        ("CONV_2D#0", "convolve"), ("DEPTHWISE_CONV_2D#1", "depthwise"), ("ADD#2", "add"),
        ("AVERAGE_POOL_2D#3", "avgpool"), ("FULLY_CONNECTED#5", "fully_connected"), ("SOFTMAX#6", "softmax"),
    ]  # fmt: skip
    assert (program.foreign, [value.tensor for value in program.inputs], program.outputs[0].tensor) == ((), ["x"], "y")
    convolution = program.steps[0]
    assert convolution.numbers["limits"] == (0, 127)
    assert [array.values.size for array in convolution.arrays] == [144, 4, 4, 4]
    assert program.steps[4].inputs[0].buffer == program.steps[3].output.buffer, "a RESHAPE is the same memory"


@pytest.mark.parametrize("seed", [1, 2, 13])
def test_a_call_has_a_bias_where_the_file_has_one(seed):
    """Dense layers and convolutions of random chains, with and without."""
    program = program_of(random_chain(seed, 7))
    weighted = [step for step in program.steps if any(array.name == "weights" for array in step.arrays)]
    assert weighted
    for step in weighted:
        assert step.call.bias is any(array.name == "bias" for array in step.arrays), step.label


def softmaxes():
    """A softmax of int8, one of int16, one from int8 to int16."""
    ends = [("INT8", 0.1, 5, "INT8", 1 / 256, -128), ("INT16", 8 / 32767, 0, "INT16", 1 / 32768, 0),
            ("INT8", 0.06, -9, "INT16", 1 / 65536, -32768)]  # fmt: skip
    tensors = []
    for number, (kind, scale, zero, result, step, lowest) in enumerate(ends):
        for name, of, of_scale, point in ((f"x{number}", kind, scale, zero), (f"y{number}", result, step, lowest)):
            value = {**tensor(name, [3, 40], scale=(of_scale,)), "type": of}
            value["quantization"]["zero_point"] = [point]
            tensors.append(value)
    operators = [
        {"opcode_index": 0, "inputs": [at], "outputs": [at + 1], "builtin_options": ("SoftmaxOptions", {"beta": 1.0})}
        for at in (0, 2, 4)
    ]
    graph = {"tensors": tensors, "inputs": [0, 2, 4], "outputs": [1, 3, 5], "operators": operators}
    return write({"version": 3, "operator_codes": [operator_code("SOFTMAX")], "subgraphs": [graph], "buffers": [{}]})


@pytest.mark.skipif(not WHOLE, reason="ONNXLINT_CMSIS_NN names no checkout of CMSIS-NN")
@needs_firmware
@needs_litert
def test_each_softmax_is_that_of_litert_bit_for_bit(tmp_path):
    (tmp_path / "softmaxes.tflite").write_bytes(softmaxes())
    check = data(str(tmp_path / "softmaxes.tflite"), *LIBRARY, "--target", "cortex-m55")["checks"][0]
    functions = [layer["function"] for layer in check["layers"]]
    assert functions == ["arm_softmax_s8", "arm_softmax_s16", "arm_softmax_s8_s16"]
    for layer in check["layers"]:
        assert (layer["differences"]["count"], layer["differences_from_plain_integers"]["count"]) == (0, 0)


@pytest.mark.parametrize(
    ("real", "expected"),
    [((None, None), (-128, 127)), ((0.0, None), (-3, 127)), ((0.0, 6.0), (-3, 57)), ((-1.0, 1.0), (-13, 7))],
)
def test_fused_activations_become_integers(real, expected):
    assert bounds(Quantization(0.1, -3), real) == expected


def test_what_is_no_integer_model_is_refused_with_the_reason():
    tensors = [{**tensor(name, [1, 4], scale=None), "type": "FLOAT32"} for name in "xy"]
    graph = {"tensors": tensors, "inputs": [0], "outputs": [1]}
    operators = [{"opcode_index": 0, "inputs": [0], "outputs": [1], "builtin_options": ("SoftmaxOptions", {})}]
    model = {"version": 3, "operator_codes": [operator_code("SOFTMAX")], "buffers": [{}]}
    with pytest.raises(FirmwareError, match=r"no layer that CMSIS-NN can run .SOFTMAX#0: "):
        program_of(write({**model, "subgraphs": [{**graph, "operators": operators}]}))


def test_without_litert_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(litert_reference, "litert_missing", lambda: "not there")
    with pytest.raises(FirmwareError, match=r"pip install 'onnxlint-cmsis.tflite.'"):
        LiteRtReference(read_tflite("m.tflite", network()))


@needs_litert
def test_one_operator_alone_makes_what_it_makes_in_the_model():
    model = network()
    reference, steps = LiteRtReference(read_tflite("m.tflite", model)), program_of(model).steps
    (inputs,) = reference.random_inputs(1, 1, {})
    names = [value.tensor for step in steps for value in (*step.inputs, step.output)]
    known = reference.tensors(names, inputs)
    assert steps
    for step in steps:
        given = {value.tensor: known[value.tensor] for value in step.inputs}
        assert (reference.layer(step, given) == known[step.output.tensor]).all(), step.label


@needs_firmware
@needs_litert
def test_a_network_on_a_board_makes_what_litert_makes(tmp_path):
    (tmp_path / "m.tflite").write_bytes(network())
    (check,) = data(*LIBRARY, str(tmp_path / "m.tflite"))["checks"]
    assert all(layer["differences"]["largest"] <= 1 for layer in check["layers"])
    for kind in ("arena", "constants", "scratch"):
        assert check["memory"][kind]["found"] == check["memory"][kind]["predicted"]


@needs_firmware
@needs_litert
def test_two_models_are_held_against_each_other(tmp_path):
    for name, shift in (("same", 0), ("other", 20000)):
        (tmp_path / f"{name}.tflite").write_bytes(network(shift))
    (tmp_path / "m.tflite").write_bytes(network())
    first = str(tmp_path / "m.tflite")
    assert check(*LIBRARY, first, "--against", str(tmp_path / "same.tflite")).returncode == 0
    done = check(*LIBRARY, first, "--against", str(tmp_path / "other.tflite"))
    assert done.returncode == 1
    assert "integers changed" in done.stdout


@needs_firmware
@needs_litert
@needs_models
@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"])
def test_models_that_people_ship_on_cortex_m4(name):
    (check,) = data(*LIBRARY, "--runs", "1", str(Path(THIRD_PARTY, f"{name}.tflite")))["checks"]
    assert check["target"].startswith("cortex-m4, ")
    assert not check["not_run"]
    assert all(layer["differences"]["count"] == 0 for layer in check["layers"])
    assert [output["count"] for output in check["outputs"]] == [0] * len(check["outputs"])


def test_a_dense_layer_of_several_scales_is_no_call_before_7_0_0(tmp_path: Path) -> None:
    """The function of one scale was called for it, and its values were told to contradict the linter."""
    scales = (0.01, 0.02, 0.03)
    tensors = [tensor("x", [1, 4]), tensor("w", [3, 4], buffer=1, scale=scales), tensor("y", [1, 3])]
    file = tmp_path / "dense.tflite"
    file.write_bytes(write(one_operator("FULLY_CONNECTED", tensors, buffers=[{}, {"data": [1] * 12}])))
    model = read_tflite(file)
    (step,) = tflite_program(model, EverythingLibrary("7.0.0")).steps
    assert step.function == "arm_fully_connected_wrapper_s8"
    (step,) = tflite_program(model, EverythingLibrary("6.0.0")).steps
    assert (step.function, step.form) == ("", "reference_fully_connected")
    assert step.reason == "CMSIS-NN 6.0.0 has no dense layer with a scale for each output"
