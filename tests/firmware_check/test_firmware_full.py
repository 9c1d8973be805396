"""Firmware with a whole CMSIS-NN: the functions that the default copy lacks. ONNXLINT_CMSIS_NN names a checkout."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import example_models as models
import softmax_model
from firmware_check.build import Bench
from firmware_check.compilers import CLANG, COMPILERS, GCC, CompilerRow, label_of
from firmware_check.evidence.call_runs import run_calls
from firmware_check.library import Library, open_library
from firmware_check.options import board_named
from firmware_check.predicted_hazards import Trouble
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support import firmware_models as more
from support.firmware_models import every_form
from support.firmware_runs import CORES, MISSING, data, lacking
from support.goldens import Told
from support.quantized_models import Qdq
from support.tflite_models import one_operator
from support.tflite_models import tensor as activation
from support.tflite_writer import write

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="ONNXLINT_CMSIS_NN names no checkout of CMSIS-NN"),
    pytest.mark.skipif(bool(FOLDER and MISSING), reason=f"this machine has no {', '.join(MISSING)}"),
]

FORMS = {
    "max": ("arm_max_pool_s8", "4.0.0"),
    "pad": ("arm_pad_s8", "7.0.0"),
    "add": ("arm_elementwise_add_s8", "4.0.0"),
    "mul": ("arm_elementwise_mul_s8", "4.0.0"),
    "avg": ("arm_avgpool_s8", "4.0.0"),
    "dense": ("arm_fully_connected_s8", "4.0.0"),
    "softmax": ("arm_softmax_s8", "4.0.0"),
}
"""Layer to the function that does the work, and the release it is in from."""


@pytest.fixture(scope="module")
def library() -> Library:
    """The checkout; its release decides what is called."""
    return open_library(FOLDER)


def checks(model: str, allowed: int = 1) -> list[dict]:
    """One check for each instruction set; all of them agree, which says that kernels ran as predicted."""
    run_checks = data(model, "--cmsis-nn", FOLDER, *CORES)["checks"]
    for check in run_checks:
        assert check["agrees"]
        assert not check["not_run"]
        assert all(layer["differences"]["largest"] <= allowed for layer in check["layers"])
    return run_checks


def test_every_form_runs_and_is_right(library: Library, tmp_path: Path) -> None:
    cases = [*checks(every_form(tmp_path))]
    assert cases
    for dict in cases:
        layers = {layer["node"]: layer for layer in dict["layers"]}
        for name, (function, since) in FORMS.items():
            layer = layers[name]
            assert bool(layer["reference_code"]) == (not library.since(since)), name
            assert layer["reference_code"] or layer["observed"]["effective"] == function
        assert bool(layers["up"]["reference_code"]) == (not library.since("5.0.0"))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_concatenation_runs_along_every_axis(axis: int, tmp_path: Path) -> None:
    shape = [1, 4, 6, 6]
    shape[axis] *= 3
    nodes = [
        models.conv("x", "w0", "a", pads=[1, 1, 1, 1]), models.conv("x", "w1", "b", pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["a", "b", "a"], ["c"], name="concat", axis=axis), models.conv("c", "w2", "y"),
    ]  # fmt: skip
    weights = {"w0": models.filters(4, 3, 3, 3), "w1": models.filters(4, 3, 3, 3)}  # alike, so that the scales are
    weights["w2"] = models.filters(4, shape[1], 1, 1)
    shapes = [1, 3, 6, 6], [1, 4, *shape[2:]]
    model = models.save(tmp_path, "concat", nodes, shapes, models.with_biases(weights))
    cases = [*checks(model)]
    assert cases
    for dict in cases:
        functions = {layer["node"]: layer["function"] for layer in dict["layers"]}
        assert functions["concat"] == "arm_concatenation_s8_x"


TRANSPOSED = {  # input channels, outputs, kernel, stride, padding; and what does the work from 7.0.0 on
    "direct": ((8, 5, 3, 2, 0), "arm_transpose_conv_s8"),
    "tiles": ((4, 4, 2, 2, 0), "arm_transpose_conv_s8"),
    "reverse": ((20, 5, 3, 2, 0), "arm_convolve_s8"),
    "reverse_padded": ((20, 6, 4, 2, 1), "arm_convolve_s8"),
    "reverse_plain": ((20, 4, 3, 1, 1), "arm_convolve_s8"),
}


def upsampling(folder: Path, sizes: tuple[int, int, int, int, int]) -> str:
    """A pointwise convolution and a transposed one over 5x5."""
    inputs, outputs, kernel, stride, padding = sizes
    width = 4 * stride + kernel - 2 * padding
    nodes = [
        models.conv("x", "w", "a"),
        helper.make_node("ConvTranspose", ["a", "t", "t_b"], ["y"], name="y", strides=[stride] * 2, pads=[padding] * 4),
    ]
    weights = models.with_biases({"w": models.filters(inputs, 3, 1, 1)})
    weights["t"] = models.filters(inputs, outputs, kernel, kernel)
    weights["t_b"] = np.linspace(-0.1, 0.1, outputs)
    return models.save(folder, "up", nodes, ([1, 3, 5, 5], [1, outputs, width, width]), weights)


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolution_takes_both_routes(name: str, library: Library, tmp_path: Path) -> None:
    sizes, kernel = TRANSPOSED[name]
    cases = [*checks(upsampling(tmp_path, sizes))]
    assert cases
    for dict in cases:
        layer = dict["layers"][-1]
        assert bool(layer["reference_code"]) == (not library.since("5.0.0"))
        if library.since("7.0.0"):
            assert layer["observed"]["effective"] == kernel


def test_a_known_defect_is_seen_on_the_device(library: Library, tmp_path: Path) -> None:
    """7.0.0: padding that is no multiple of the stride. No other release has it under that name."""
    if library.release != "7.0.0":
        pytest.skip(f"the defect is of 7.0.0, the checkout is {library.release}")
    check = data(upsampling(tmp_path, (8, 5, 3, 2, 1)), "--cmsis-nn", FOLDER, code=1)["checks"][0]
    texts = [defect["text"] for defect in check["layers"][-1]["defects"] if defect["code"] == "CNN302"]
    assert any(text.endswith("release: tconv-padding-not-in-strides") for text in texts)
    assert (check["agrees"], check["verdict"] == "agrees") == (True, False)


def without_bias(folder: Path) -> str:
    """A convolution, a depthwise, a transposed and a fully connected layer, none of them with a bias."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("Conv", ["a", "d"], ["b"], name="depthwise", group=4),
        helper.make_node("ConvTranspose", ["b", "t"], ["c"], name="transposed"),
        helper.make_node("GlobalAveragePool", ["c"], ["e"], name="avg"),
        helper.make_node("Flatten", ["e"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "g"], ["y"], name="dense", transB=1),
    ]
    weights = {"w": models.filters(4, 3, 1, 1), "d": models.filters(4, 1, 3, 3)}
    weights |= {"t": models.filters(4, 4, 2, 2), "g": models.filters(5, 4)}
    return models.save(folder, "bare", nodes, ([1, 3, 6, 6], [1, 5]), weights)


def test_a_layer_without_a_bias_runs_and_is_right(tmp_path: Path) -> None:
    cases = [*checks(without_bias(tmp_path))]
    assert cases
    for dict in cases:
        assert [layer["node"] for layer in dict["layers"]][:3] == ["conv", "depthwise", "transposed"]


def test_a_null_bias_of_a_wide_depthwise_layer_is_seen_on_the_device(tmp_path: Path) -> None:
    nodes = [models.conv("x", "w", "a"), helper.make_node("Conv", ["a", "d"], ["y"], name="depthwise", group=128)]
    weights = {**models.with_biases({"w": models.filters(128, 3, 1, 1)}), "d": models.filters(128, 1, 3, 3)}
    model = models.save(tmp_path, "wide", nodes, ([1, 3, 6, 6], [1, 128, 4, 4]), weights)
    options = "--cmsis-nn", FOLDER, "--target", "cortex-m55"
    layer = data(model, *options, code=1)["checks"][0]["layers"][-1]
    assert any(defect["text"].endswith("release: dw-opt-no-bias") for defect in layer["defects"])
    assert layer["disagreements"] == []


def test_the_examples_agree(tmp_path: Path) -> None:
    for model in (models.mobilenet(tmp_path), models.residual(tmp_path)):
        assert len(checks(model)) == 3


SIXTEEN_BITS = {
    "c0": "arm_convolve_wrapper_s16",
    "c1": "arm_depthwise_conv_wrapper_s16",
    "max": "arm_max_pool_s16",
    "c2": "arm_convolve_wrapper_s16",
    "add": "arm_elementwise_add_s16",
    "mul": "arm_elementwise_mul_s16",
    "avg": "arm_avgpool_s16",
    "dense": "arm_fully_connected_s16",
    "softmax": "arm_softmax_s16",
}
"""Layer of the model of int16 to the function called."""


@pytest.fixture
def sixteen(library: Library) -> None:
    """Skips where the checkout is without a function for int16."""
    absent = sorted({name for name in SIXTEEN_BITS.values() if not library.has(name)})
    if absent:
        pytest.skip(f"the checkout has no {', '.join(absent)}")


@pytest.mark.usefixtures("sixteen")
def test_every_form_of_sixteen_bits_runs_and_is_right(tmp_path: Path) -> None:
    cases = [*checks(more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path), allowed=2)]
    assert cases
    for dict in cases:
        functions = {layer["node"]: layer["function"] for layer in dict["layers"] if layer["function"]}
        assert functions == SIXTEEN_BITS


WIDE_CONVOLUTIONS = {  # input channels, outputs, kernel, and what else the operator has
    "odd": (5, 7, 3, {"strides": [2, 2], "pads": [1] * 4}),
    "pointwise": (10, 3, 1, {}),
    "dilated": (4, 5, 3, {"dilations": [2, 2], "pads": [2] * 4}),
    "deep": (60, 5, 3, {"pads": [1] * 4}),  # 540 columns: above 512 sums are of 64 bits
    "depthwise": (5, 5, 3, {"group": 5, "pads": [1] * 4}),
    "depthwise_strided": (8, 8, 3, {"group": 8, "strides": [2, 2], "pads": [1] * 4}),
    "depthwise_dilated": (6, 6, 3, {"group": 6, "dilations": [2, 2], "pads": [2] * 4}),
    "depthwise_of_60": (60, 60, 3, {"group": 60}),  # 4.0.0 counts the channels among the 512
    "multiplied": (3, 9, 3, {"group": 3}),
}


@pytest.mark.usefixtures("sixteen")
@pytest.mark.parametrize("name", WIDE_CONVOLUTIONS)
def test_convolutions_of_sixteen_bits_take_their_routes(name: str, tmp_path: Path) -> None:
    channels, outputs, kernel, attributes = WIDE_CONVOLUTIONS[name]
    model = more.in_sixteen_bits(more.convolution(tmp_path, channels, outputs, kernel, **attributes), tmp_path)
    cases = [*checks(model, allowed=2)]
    assert cases
    for dict in cases:
        assert dict["layers"][-1]["observed"]["chain"] == dict["layers"][-1]["predicted"]["chain"] != []


@pytest.mark.usefixtures("sixteen")
def test_a_softmax_of_sixteen_bits_keeps_its_bound(tmp_path: Path) -> None:
    classes = 20
    cases = [*checks(more.in_sixteen_bits(more.classifier(tmp_path, 600, classes), tmp_path), allowed=2 * classes)]
    assert cases
    for dict in cases:
        dense, softmax = dict["layers"][-2:]
        assert dense["differences"]["largest"] <= 2
        assert softmax["differences"]["largest"] > 2


PADDED_UP = {"even": (8, 6, 4, 2, 1), "odd": (8, 5, 3, 2, 1)}
"""Transposed convolutions with padding: input channels, outputs, kernel, stride, padding."""


@pytest.mark.parametrize("name", PADDED_UP)
def test_a_padded_transposed_convolution_is_right_up_to_6(name: str, library: Library, tmp_path: Path) -> None:
    """Its padding at the end is a parameter, which 5.0.0 and 6.0.0 read (arm_transpose_conv_s8.c:84, :147)."""
    if library.release not in ("5.0.0", "6.0.0"):
        pytest.skip(f"the kernel that reads padding_offsets is of 5.0.0 and 6.0.0, the checkout is {library.release}")
    cases = [*checks(upsampling(tmp_path, PADDED_UP[name]))]
    assert cases
    for dict in cases:
        assert dict["layers"][-1]["function"] == "arm_transpose_conv_s8"


def test_the_softmax_that_ran_on_mve_is_named(library: Library, tmp_path: Path, told: Told) -> None:
    """gcc 12.2 ends with an internal error in that of 4.0.0; later releases leave the MVE code out for it."""
    check = data(every_form(tmp_path), "--cmsis-nn", FOLDER, "--target", "cortex-m55")["checks"][0]
    if not check["compiler"].startswith("gcc 12.2"):
        pytest.skip(f"the defect is of gcc 12.2, the compiler is {check['compiler']}")
    softmax = next(layer for layer in check["layers"] if layer["op"] == "Softmax")
    if library.release == "4.0.0":
        told(check["remarks"])
    else:
        (remark,) = softmax["remarks"]
        assert remark.startswith("arm_nn_softmax_common_s8 ran: ")


def scalar_softmaxes(compiler: CompilerRow, library: Library) -> set[str]:
    """Functions in which arm_nn_softmax_common_s8 does the work on MVE: gcc 12.2 leaves the MVE code of one out."""
    left_out = compiler is GCC and label_of(GCC).startswith("gcc 12.2") and library.since("4.1.0")
    return {"arm_softmax_s8_s16", *(["arm_softmax_s8"] if left_out else [])}


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda row: row.name)
def test_a_hundred_softmaxes_equal_plain_integers(compiler: CompilerRow, library: Library, tmp_path: Path) -> None:
    if compiler is CLANG and lacking(CLANG):
        pytest.skip(lacking(CLANG))
    path = tmp_path / "softmaxes.onnx"
    onnx.save(softmax_model.softmax_model(100), path)
    options = "--cmsis-nn", FOLDER, "--target", "cortex-m55", "--compiler", compiler.name
    check = data(str(path), *options)["checks"][0]
    layers = [layer for layer in check["layers"] if layer["function"]]
    assert len(layers) == 100
    for layer in layers:
        assert layer["differences_from_plain_integers"]["count"] == 0
        assert layer["function"] == "arm_softmax_s16" or layer["differences"]["largest"] <= 1
        calls = {call["function"] for call in layer["observed"]["calls"]}
        assert ("arm_nn_softmax_common_s8" in calls) == (layer["function"] in scalar_softmaxes(compiler, library))


@pytest.mark.skipif(bool(lacking(CLANG)), reason=lacking(CLANG))
def test_clang_compiles_every_form(tmp_path: Path) -> None:
    options = "--cmsis-nn", FOLDER, "--compiler", "clang", "--target", "cortex-m4", "--target", "cortex-m55"
    assert data(every_form(tmp_path), *options)["checks"]
    for check in data(every_form(tmp_path), *options)["checks"]:
        assert check["compiler"].startswith("clang ")
        assert check["verdict"] == "agrees"
        assert not any("arm_nn_softmax_common_s8 ran" in said for layer in check["layers"] for said in layer["remarks"])


@pytest.mark.skipif(bool(lacking(CLANG)), reason=lacking(CLANG))
def test_4_bit_depthwise_layers_are_wrong_on_mve_with_gcc_12_alone(library: Library, tmp_path: Path) -> None:
    """gcc 12.2 makes 0xFFFF of constant predicates: every other channel is wrong, through no fault of CMSIS-NN."""
    if not library.since("6.0.0") or not label_of(GCC).startswith("gcc 12.2"):
        pytest.skip(f"CMSIS-NN has MVE code for it from 6.0.0 on, and gcc 12.2 the defect: {label_of(GCC)}")
    call = KernelCall("depthwise_s4", Dims(1, 6, 6, 8), Dims(1, 3, 3, 8), Dims(1, 4, 4, 8), ch_mult=1)
    board = board_named("cortex-m55")
    runs = {
        row.name: run_calls({"x": call}, Bench(board, library, compiler=row), tmp_path / row.name)["x"]
        for row in COMPILERS
    }
    assert runs["gcc"].trouble.wrong
    assert runs["clang"].trouble == Trouble(0, (), ())


def narrow(folder: Path) -> str:
    """A depthwise layer whose weights have 4 bits."""
    model = Qdq((1, 8, 6, 6))
    values = np.random.default_rng(3).integers(-7, 8, 72).tolist()
    model.constants.append(helper.make_tensor("w", TensorProto.INT4, (8, 1, 3, 3), values))
    model.nodes.append(helper.make_node("DequantizeLinear", ["w", model.constant("k", np.float32(0.05))], ["v"]))
    path = str(folder / "narrow.onnx")
    onnx.save(model.layer("Conv", "v", group=8).rounded(0.2).model(), path)
    return path


@pytest.mark.skipif(bool(lacking(CLANG)), reason=lacking(CLANG))
def test_a_layer_that_gcc_12_makes_wrong_is_reported_as_the_compilers(library: Library, tmp_path: Path) -> None:
    if not library.since("6.0.0") or not label_of(GCC).startswith("gcc 12.2"):
        pytest.skip(f"CMSIS-NN has MVE code for it from 6.0.0 on, and gcc 12.2 the defect: {label_of(GCC)}")
    options = "--cmsis-nn", FOLDER, "--target", "cortex-m55", "--compiler", "gcc", "--compiler", "clang"
    wrong, right = data(narrow(tmp_path), *options, code=1)["checks"]
    assert wrong["layers"][0]["disagreements"] == []
    (said,) = [defect["text"] for defect in wrong["layers"][0]["defects"]]
    assert said.endswith("compiler: dw-s4-opt-gcc-predicate")
    assert right["verdict"] == "agrees"


@pytest.mark.parametrize("kind", ["convolve", "depthwise"])
def test_layers_of_4_bits_run_in_the_library(kind: str, library: Library, tmp_path: Path) -> None:
    if not library.since("5.0.0"):
        pytest.skip(f"4-bit weights came with 5.0.0, the checkout is {library.release}")
    wide = kind == "convolve"
    call = KernelCall(
        f"{kind}_s4", Dims(1, 6, 6, 8), Dims(4, 3, 3, 8) if wide else Dims(1, 3, 3, 8), Dims(1, 4, 4, 4 if wide else 8),
        ch_mult=0 if wide else 1,
    )  # fmt: skip
    run = run_calls({"x": call}, Bench(board_named("cortex-m4"), library), tmp_path)["x"]
    assert (run.trouble, run.unlike, run.ended) == (Trouble(0, (), ()), (), "")


def test_a_grouped_layer_runs_in_the_library_and_is_seen_to_be_wrong_before_6(library: Library, tmp_path: Path) -> None:
    model = more.convolution(tmp_path, 4, 4, 3, group=2)
    right = library.since("6.0.0")
    layer = data(model, "--cmsis-nn", FOLDER, code=0 if right else 1)["checks"][0]["layers"][-1]
    assert layer["function"] == "arm_convolve_wrapper_s8"
    assert [defect["code"] for defect in layer["defects"]] == ([] if right else ["CNN302"])


def test_max_pooling_of_a_batch_runs_in_the_library(library: Library, tmp_path: Path) -> None:
    for entry in ("max_pool_s8", "max_pool_s16"):
        call = KernelCall(entry, Dims(2, 4, 4, 3), Dims(1, 2, 2, 1), Dims(2, 2, 2, 3), Pair(2, 2))
        run = run_calls({"x": call}, Bench(board_named("cortex-m4"), library), tmp_path / entry)["x"]
        assert bool(run.trouble.wrong) == (not library.since("6.0.0")), entry


def extremes(folder: Path) -> str:
    """The larger of an image and a number for each channel, and the smaller of that and a constant column."""
    model = Qdq((1, 4, 3, 5))
    model.nodes.append(helper.make_node("GlobalAveragePool", ["x_real"], ["mean"], "mean"))
    numbers = model._parameters("mean_q", 0.1, 0, np.int8)
    model.nodes.append(helper.make_node("QuantizeLinear", ["mean", *numbers], ["mean_q"], "mean_q"))
    model.nodes.append(helper.make_node("DequantizeLinear", ["mean_q", *numbers], ["mean_real"], "mean_dq"))
    column = model.dequantized(model.constant("k", np.array([9, -40, 77], np.int8).reshape(3, 1)), 0.1)
    model.layer("Max", "mean_real").rounded(0.1).layer("Min", column).rounded(0.1)
    path = str(folder / "extremes.onnx")
    onnx.save(model.model(), path)
    return path


def test_an_extreme_of_a_broadcast_runs_in_the_library_and_its_defect_is_seen(library: Library, tmp_path: Path) -> None:
    if not library.since("7.0.0"):
        pytest.skip(f"arm_maximum_s8 came with 7.0.0, the checkout is {library.release}")
    assert data(extremes(tmp_path), "--cmsis-nn", FOLDER, *CORES, code=1)["checks"]
    for check in data(extremes(tmp_path), "--cmsis-nn", FOLDER, *CORES, code=1)["checks"]:
        layers = [layer for layer in check["layers"] if layer["node"] in ("max", "min")]
        assert [layer["function"] for layer in layers] == ["arm_maximum_s8", "arm_minimum_s8"]
        assert check["agrees"]
        assert [bool(layer["defects"]) for layer in layers] == [False, True]
        assert layers[1]["defects"][0]["text"].endswith("minimum-single-columns")


def test_an_extreme_of_a_tflite_file_runs_in_the_library(library: Library, tmp_path: Path) -> None:
    if not library.since("7.0.0"):
        pytest.skip(f"arm_maximum_s8 came with 7.0.0, the checkout is {library.release}")
    for second, wrong in (([1, 3, 5, 1], True), ([1, 3, 1, 4], False)):
        shape = [max(pair) for pair in zip([1, 3, 1, 1], second, strict=True)]
        path = tmp_path / f"{wrong}.tflite"
        operands = activation("a", [1, 3, 1, 1]), activation("b", second), activation("y", shape)
        path.write_bytes(write(one_operator("MAXIMUM", [*operands])))
        for check in data(str(path), "--cmsis-nn", FOLDER, *CORES, code=int(wrong))["checks"]:
            assert check["agrees"]
            assert bool(check["layers"][0]["defects"]) is wrong
