"""The generated C against the signatures of each release, by the cross compiler; no kernels are needed for that."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from onnx import helper
from test_firmware_board import MISSING, REQUIRED, data
from test_firmware_parts import EverythingLibrary

import example_models as models
from firmware_check.arena import plan
from firmware_check.boards import BOARDS
from firmware_check.emit import HERE, model_source, sweep_source
from firmware_check.opening import Options, open_model
from support import firmware_models as more

pytestmark = pytest.mark.skipif(
    bool(MISSING) and not REQUIRED, reason=f"scripts/test.sh did not install {', '.join(MISSING)} on this machine"
)

RELEASES = ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

CONV = "const D *, const int8_t *, const D *, const int8_t *, const D *, const int32_t *, const D *, int8_t *"
POOL = (
    "const cmsis_nn_context *, const cmsis_nn_pool_params *, const D *, const int8_t *, const D *, const D *, int8_t *"
)
SCALES = "const cmsis_nn_per_channel_quant_params *"
TRANSPOSED = f"const cmsis_nn_context *, const cmsis_nn_context *, const T *, {SCALES}, {CONV}"
I32 = "int32_t"

ALWAYS = (
    f"S arm_convolve_wrapper_s8(const cmsis_nn_context *, const cmsis_nn_conv_params *, {SCALES}, {CONV})",
    f"S arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *, const cmsis_nn_dw_conv_params *, {SCALES}, {CONV})",
    f"{I32} arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *, const D *, const D *, const D *)",
    f"{I32} arm_depthwise_conv_wrapper_s8_get_buffer_size("
    "const cmsis_nn_dw_conv_params *, const D *, const D *, const D *)",
    f"{I32} arm_fully_connected_s8_get_buffer_size(const D *)",
    f"{I32} arm_avgpool_s8_get_buffer_size(int, int)",
    f"S arm_avgpool_s8({POOL})",
    f"S arm_max_pool_s8({POOL})",
    "void arm_softmax_s8(const int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int8_t *)",
    "S arm_elementwise_add_s8(const int8_t *, const int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, "
    "int32_t, int8_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t)",
    "S arm_elementwise_mul_s8(const int8_t *, const int8_t *, int32_t, int32_t, int8_t *, int32_t, int32_t, int32_t, "
    "int32_t, int32_t, int32_t)",
)
FULLY_CONNECTED = f"const cmsis_nn_context *, const cmsis_nn_fc_params *, const %s *, {CONV}"
SINCE = {
    "4.0.0": (f"S arm_fully_connected_s8({FULLY_CONNECTED % 'cmsis_nn_per_tensor_quant_params'})",),
    "5.0.0": (
        f"S arm_transpose_conv_s8({TRANSPOSED})",
        f"{I32} arm_transpose_conv_s8_get_buffer_size(const D *, const D *, const D *)",
        "S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *)",
    ),
    "6.0.0": ("S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *, int32_t, const int32_t *)",),
    "7.0.0": (
        f"S arm_fully_connected_wrapper_s8({FULLY_CONNECTED % 'Q'})",
        f"S arm_transpose_conv_wrapper_s8({TRANSPOSED})",
        f"{I32} arm_transpose_conv_s8_get_buffer_size(const T *, const D *, const D *, const D *)",
        f"{I32} arm_transpose_conv_s8_get_reverse_conv_buffer_size(const T *, const D *, const D *)",
        "S arm_vector_sum_s8(int32_t *, int32_t, int32_t, const int8_t *, int32_t, int32_t, const int32_t *)",
        "S arm_pad_s8(const int8_t *, int8_t *, int8_t, const D *, const D *, const D *)",
    ),
}
"""Signatures as the headers of the releases have them; a later one of the same name replaces an earlier one."""

TYPES = """
typedef int S;
typedef cmsis_nn_dims D;
typedef struct { int32_t *multiplier, *shift, is_per_channel; } cmsis_nn_quant_params;
typedef cmsis_nn_quant_params Q;
typedef struct {
    int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, padding_offsets, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_transpose_conv_params;
typedef cmsis_nn_transpose_conv_params T;
"""


class Stub(EverythingLibrary):
    """A library of which only the signatures exist."""

    def __init__(self, release: str) -> None:
        super().__init__(release)
        self.origin = "signatures"
        self.signatures = {signature.split("(")[0].split()[-1]: signature for signature in signatures(release)}

    def has(self, function: str) -> bool:
        return function in self.signatures


def signatures(release: str) -> list[str]:
    """Everything a release declares that generated C may call."""
    found = list(ALWAYS)
    for since, added in SINCE.items():
        found += added if RELEASES.index(release) >= RELEASES.index(since) else ()
    return found


def every_form(folder: Path) -> str:
    """A float model whose layers take every form that has a call."""
    nodes = [
        models.conv("x", "w0", "c0", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c0"], ["m"], name="max", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Pad", ["m", "pads"], ["p"], name="pad", mode="constant"),
        models.conv("m", "d0", "c1", pads=[2, 2, 2, 2], group=4),
        helper.make_node("Add", ["p", "c1"], ["a"], name="add"),
        helper.make_node("Mul", ["a", "c1"], ["b"], name="mul"),
        helper.make_node("ConvTranspose", ["b", "t0", "t0_b"], ["u"], name="up", strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["u"], ["g"], name="avg"),
        helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w9", "w9_b"], ["l"], name="dense", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], name="softmax"),
    ]
    weights = models.with_biases(
        {"w0": models.filters(4, 3, 3, 3), "d0": models.filters(4, 1, 3, 3), "t0": models.filters(4, 4, 2, 2),
         "w9": models.filters(5, 4)}
    )  # fmt: skip
    path = models.save(folder, "forms", nodes, ([1, 3, 6, 6], [1, 5]), weights)
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads"))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("release", RELEASES)
def test_generated_c_fits_the_signatures_of_the_release(release: str, tmp_path: Path) -> None:
    library = Stub(release)
    model = open_model(every_form(tmp_path), library, Options({}), tmp_path)  # type: ignore[arg-type]
    forms = {step.form for step in model.program.steps}
    assert {"convolve", "depthwise", "add", "mul", "max_pool", "avgpool", "fully_connected", "softmax"} <= forms
    assert ("transpose_conv" in forms) == (release not in ("4.0.0", "4.1.0"))
    assert ("pad" in forms) == (release in ("7.0.0", "main"))
    numbers = {"bytes": 1024, "channels": 64, "aim": 1000, "most": 50}
    kinds = ["conv", "dw", "fc", "avg", "max", "add", "mul", "softmax"]
    sources = {
        "model.c": model_source(model.program, plan(model.program), BOARDS[-1], library, "t"),  # type: ignore[arg-type]
        "sweep.c": sweep_source(kinds, library, numbers),  # type: ignore[arg-type]
    }
    write_headers(tmp_path, library)
    for name, text in sources.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        command = ["arm-none-eabi-gcc", *BOARDS[-1].flags, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        command += [f"-I{tmp_path}", f"-I{HERE / 'runtime'}", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("release", ["4.0.0", "main"])
def test_every_number_of_a_generated_call_has_a_name(release: str, tmp_path: Path) -> None:
    """By a variable, a field or a comment: calls of plain C, of element-wise functions, pad, concatenation, softmax."""
    library = Stub(release)
    calls = []
    for make in (every_form, more.beside, more.branches):
        model = open_model(make(tmp_path), library, Options({}), Path(mkdtemp(dir=tmp_path)))  # type: ignore[arg-type]
        text = model_source(model.program, plan(model.program), BOARDS[-1], library, "t")  # type: ignore[arg-type]
        calls += re.findall(
            r"(?:plain|arm_elementwise|arm_pad|arm_concatenation)_\w+\([^;]*;|arm_softmax_s8\([^)]*\)", text
        )
    assert {"plain_lookup", "plain_move", "arm_elementwise_add_s8", "arm_softmax_s8"} <= {
        call.split("(")[0] for call in calls
    }
    for call in calls:
        assert not re.search(r"[(,]\s*-?\d[\d.]*f?\s*[,)]", call), call


def write_headers(folder: Path, library: Stub) -> None:
    """The structs of 4.0.0, which later releases only add to, and the signatures of one release."""
    from firmware_check.library import open_library

    types = open_library("").root / "Include" / "arm_nn_types.h"
    text = types.read_text(encoding="utf-8") + TYPES + "".join(f"{each};\n" for each in library.signatures.values())
    (folder / "arm_nnfunctions.h").write_text(f"#pragma once\n{text}", encoding="utf-8")
    (folder / "arm_nnsupportfunctions.h").write_text("", encoding="utf-8")


def test_plain_c_stands_in_for_what_a_copy_lacks(tmp_path: Path) -> None:
    """The default copy of 4.0.0 has none of these; plain C is right to one unit, in place where it may be."""
    found = data(every_form(tmp_path))["checks"][0]
    assert found["agrees"]
    plain = {layer["node"] for layer in found["layers"] if layer["plain_c"]}
    assert plain == {"pad", "add", "mul", "up", "softmax"}
    assert not found["not_run"]
