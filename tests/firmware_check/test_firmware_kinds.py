"""Models in other formats and types on the device: QOperator, int16 activations, operators beside CMSIS-NN's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import example_models as models
from firmware_check.arena import plan
from firmware_check.boards import BOARDS
from firmware_check.emit import HERE, model_source
from firmware_check.opening import Options, open_model
from support import firmware_models as more
from support import paths
from support.firmware_runs import check, data, needs_firmware
from support.firmware_signatures import CONV, POOL, RELEASES, SCALES, Stub, write_headers
from support.goldens import Told

pytestmark = needs_firmware


def right(report: dict) -> dict:
    """The first check, whose every layer ran and is right."""
    first = report["checks"][0]
    assert first["agrees"]
    assert not first["not_run"]
    assert all(layer["differences"]["largest"] <= 1 for layer in first["layers"])
    return first


@pytest.mark.parametrize("signed", [True, False], ids=["int8", "uint8"])
@pytest.mark.parametrize("make", [models.mobilenet, models.residual, more.branches], ids=lambda make: make.__name__)
def test_models_of_operators_on_integers_run_as_the_others_do(make, signed: bool, tmp_path: Path) -> None:
    path = more.in_operator_format(make(tmp_path), tmp_path, signed)
    file = onnx.load(path)
    report = right(data(path))
    operators = {node.name: node.op_type for node in file.graph.node if node.op_type.startswith(("QLinear", "QGemm"))}
    assert len(operators) >= 5
    assert {layer["node"]: layer["op"] for layer in report["layers"]}.items() >= operators.items()
    for layer in report["layers"]:
        if layer["function"]:
            assert layer["observed"]["chain"] == layer["predicted"]["chain"] != []


def test_operators_beside_cmsis_nn_run_in_plain_c(tmp_path: Path) -> None:
    report = right(data(more.beside(tmp_path)))
    plain = {layer["node"] for layer in report["layers"] if layer["reference_code"]}
    assert plain >= {
        "sigmoid",
        "swish",
        "hard_sigmoid",
        "excite:expand",
        "excite",
        "slice",
        "resize",
        "half",
        "tanh",
        "counted",
    }
    tables = [layer for layer in report["layers"] if layer["op"] in ("Sigmoid", "HardSigmoid", "Div", "Tanh")]
    assert all(layer["differences"]["count"] <= 2 for layer in tables)


def test_each_of_them_runs_alone(tmp_path: Path) -> None:
    right(data(more.beside(tmp_path), "--per-layer"))


def with_sixteen_bits(folder: Path) -> str:
    """The carried library with functions for int16, which its own sources leave out."""
    from firmware_check.library import open_library

    library = folder / "library"
    shutil.copytree(open_library("").root, library)
    shutil.copy(paths.DATA / "s16_stand_in.c", library / "Source")
    return str(library)


def test_sixteen_bits_run_where_the_library_has_functions_for_them(tmp_path: Path) -> None:
    path = more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path)
    first = data(path, "--cmsis-nn", with_sixteen_bits(tmp_path), "--target", "cortex-m3")["checks"][0]
    assert not first["not_run"]
    assert first["agrees"]
    assert not [layer["node"] for layer in first["layers"] if layer["reference_code"]]
    called = {layer["function"] for layer in first["layers"] if layer["function"]}
    assert called == {
        "arm_convolve_wrapper_s16", "arm_depthwise_conv_wrapper_s16", "arm_max_pool_s16", "arm_elementwise_add_s16",
        "arm_elementwise_mul_s16", "arm_avgpool_s16", "arm_fully_connected_s16", "arm_softmax_s16",
    }  # fmt: skip
    assert max(layer["differences"]["largest"] for layer in first["layers"]) <= 2


def test_a_softmax_of_sixteen_bits_may_differ_by_two_for_each_element(tmp_path: Path) -> None:
    path = more.in_sixteen_bits(more.classifier(tmp_path, 40, 20), tmp_path)
    first = data(path, "--cmsis-nn", with_sixteen_bits(tmp_path), "--target", "cortex-m3")["checks"][0]
    assert first["agrees"]
    softmax = first["layers"][-1]
    assert softmax["function"] == "arm_softmax_s16"
    assert 2 < softmax["differences"]["largest"] <= 40


def test_sixteen_bits_without_functions_for_them_do_not_run(tmp_path: Path, told: Told) -> None:
    done = check(more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path))
    assert done.returncode == 2
    told(done.stderr)
    assert len(done.stderr.splitlines()) == 1


WIDE = CONV.replace("const int8_t *, const D *, const int8_t *", "const int16_t *, const D *, const int8_t *").replace(
    "int32_t *, const D *, int8_t *", "int64_t *, const D *, int16_t *"
)
WIDE_POOL = POOL.replace("int8_t", "int16_t")
SIXTEEN_BITS = (
    f"S arm_convolve_wrapper_s16(const cmsis_nn_context *, const cmsis_nn_conv_params *, {SCALES}, {WIDE})",
    "int32_t arm_convolve_wrapper_s16_get_buffer_size(const cmsis_nn_conv_params *, const D *, const D *, const D *)",
    f"S arm_depthwise_conv_wrapper_s16(const cmsis_nn_context *, const cmsis_nn_dw_conv_params *, {SCALES}, {WIDE})",
    "int32_t arm_depthwise_conv_wrapper_s16_get_buffer_size("
    "const cmsis_nn_dw_conv_params *, const D *, const D *, const D *)",
    "S arm_fully_connected_s16(const cmsis_nn_context *, const cmsis_nn_fc_params *, "
    f"const cmsis_nn_per_tensor_quant_params *, {WIDE})",
    "int32_t arm_fully_connected_s16_get_buffer_size(const D *)",
    "int32_t arm_avgpool_s16_get_buffer_size(int, int)",
    f"S arm_avgpool_s16({WIDE_POOL})",
    f"S arm_max_pool_s16({WIDE_POOL})",
    "S arm_elementwise_add_s16(const int16_t *, const int16_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, "
    "int32_t, int16_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t)",
    "S arm_elementwise_mul_s16(const int16_t *, const int16_t *, int32_t, int32_t, int16_t *, int32_t, int32_t, "
    "int32_t, int32_t, int32_t, int32_t)",
    "S arm_softmax_s16(const int16_t *, int32_t, int32_t, int32_t, int32_t, const cmsis_nn_softmax_lut_s16 *, "
    "int16_t *)",
)
"""Signatures of the headers of 4.0.0; only the bias of the convolution differs from 6.0.0 on."""
BIAS_STRUCT = "typedef struct { const void *data; const int is_int32_bias; } cmsis_nn_bias_data"


class Wide(Stub):
    """The signatures of a release, those for int16 among them."""

    def __init__(self, release: str) -> None:
        super().__init__(release)
        later = RELEASES.index(release) >= RELEASES.index("6.0.0")
        if later:
            self.signatures["cmsis_nn_bias_data"] = BIAS_STRUCT
        for signature in SIXTEEN_BITS:
            name = signature.split("(")[0].split()[-1]
            changed = later and name == "arm_convolve_wrapper_s16"
            self.signatures[name] = signature.replace("int64_t", "cmsis_nn_bias_data") if changed else signature


def test_a_softmax_of_sixteen_bits_has_one_output_scale(tmp_path: Path, told: Told) -> None:
    path = more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path)
    model = onnx.load(path)
    scale = next(initializer for initializer in model.graph.initializer if initializer.name.endswith("_tflite_scale"))
    scale.CopyFrom(onnx.numpy_helper.from_array(np.array(1 / 32000, np.float32), scale.name))
    onnx.save(model, path)
    foreign = open_model(path, Wide("main"), Options({}), tmp_path).program.foreign  # type: ignore[arg-type]
    ((label, reason),) = foreign
    assert label == "softmax"
    told(reason)


@pytest.mark.parametrize("release", RELEASES)
def test_calls_for_sixteen_bits_fit_the_signatures_of_the_release(release: str, tmp_path: Path) -> None:
    library = Wide(release)
    path = more.in_sixteen_bits(more.sixteen(tmp_path), tmp_path)
    program = open_model(path, library, Options({}), tmp_path).program  # type: ignore[arg-type]
    assert not program.foreign
    text = model_source(program, plan(program), BOARDS[-1], library, "t")  # type: ignore[arg-type]
    write_headers(tmp_path, library)
    (tmp_path / "model.c").write_text(text, encoding="utf-8")
    command = ["arm-none-eabi-gcc", *BOARDS[-1].flags, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{tmp_path}", f"-I{HERE / 'runtime'}", str(tmp_path / "model.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pools_that_round_sizes_up_have_the_size_of_onnx_runtime(tmp_path: Path) -> None:
    """Shape inference of onnx counts a last window that lies in the padding alone; ONNX Runtime leaves it out."""
    window = {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    nodes = [
        models.conv("x", "w", "a"),
        helper.make_node("MaxPool", ["a"], ["m"], name="max", **window),
        helper.make_node("AveragePool", ["m"], ["p"], name="average", **{**window, "strides": [2, 2]}),
        models.conv("p", "v", "y"),
    ]
    weights = models.with_biases({"w": models.filters(4, 3, 1, 1), "v": models.filters(4, 4, 1, 1)})
    report = right(data(models.save(tmp_path, "ceil", nodes, ([1, 3, 4, 4], [1, 4, 2, 2]), weights)))
    layers = {layer["node"]: layer for layer in report["layers"]}
    assert [layers[name]["differences"]["total"] for name in ("max", "average")] == [16, 16]
