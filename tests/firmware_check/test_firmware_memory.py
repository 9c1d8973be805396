"""Flash and RAM: what is predicted from model and release beside what the ELF file has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import example_models as models
from onnxlint_cmsis.cmsis_nn.library import Parameters, parameters
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall, Target
from support import firmware_models as more
from support.firmware_runs import MISSING, REQUIRED, check, data

on_the_device = pytest.mark.skipif(
    bool(MISSING) and not REQUIRED, reason=f"scripts/test.sh did not install {', '.join(MISSING)} on this machine"
)


def target(release: str) -> Target:
    return Target("cortex-m4", Isa.DSP, release)


def call(entry: str, filter_dims: Dims, out_c: int | None, per_channel: bool | None = None) -> KernelCall:
    return KernelCall(entry, Dims(1, 4, 4, 8), filter_dims, Dims(1, 4, 4, out_c), per_channel=per_channel)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 5), st.integers(1, 40))
def test_a_convolution_has_a_multiplier_and_a_shift_for_each_channel(out_c: int, h: int, w: int, in_c: int) -> None:
    weights = out_c * h * w * in_c
    dims = Dims(out_c, h, w, in_c)
    expected = Parameters(weights, 4 * out_c, 4 * out_c, 4 * out_c)
    assert parameters(call("convolve_s8", dims, out_c), target("7.0.0")) == expected
    assert parameters(call("transpose_conv_s8", dims, out_c), target("7.0.0")) == expected
    bare = call("convolve_s8", dims, out_c)._replace(bias=False)
    assert parameters(bare, target("7.0.0")) == expected._replace(bias=0)
    assert parameters(call("convolve_s16", dims, out_c), target("7.0.0")) == expected._replace(bias=8 * out_c)
    half = expected._replace(weights=(weights + 1) // 2)
    assert parameters(call("convolve_s4", dims, out_c), target("7.0.0")) == half
    assert expected.total == weights + 12 * out_c


def test_a_depthwise_convolution_has_a_window_for_each_output_channel() -> None:
    given = parameters(call("depthwise_s8", Dims(1, 3, 3, 16), 16), target("4.0.0"))
    assert given == Parameters(144, 64, 64, 64)


@pytest.mark.parametrize(
    ("release", "entry", "per_channel", "pairs"),
    [
        ("6.0.0", "fully_connected_s8", False, 0), ("6.0.0", "fully_connected_s8", True, 0),
        ("7.0.0", "fully_connected_s8", False, 1), ("main", "fully_connected_s8", True, 5),
        ("main", "fully_connected_s16", None, 0),
    ],
)  # fmt: skip
def test_a_fully_connected_layer_takes_its_multiplier_by_value_or_by_pointer(
    release: str, entry: str, per_channel: bool | None, pairs: int
) -> None:
    given = parameters(call(entry, Dims(8, 1, 1, 5), 5, per_channel), target(release))
    assert given == Parameters(40, 40 if entry.endswith("s16") else 20, 4 * pairs, 4 * pairs)


def test_nothing_is_said_of_unknown_sizes_or_of_layers_without_weights() -> None:
    assert parameters(call("convolve_s8", Dims(8, 3, 3, None), 8), target("7.0.0")) is None
    assert parameters(call("convolve_s8", Dims(8, 3, 3, 8), None), target("7.0.0")) is None
    assert parameters(call("avgpool_s8", Dims(1, 3, 3, 1), 8), target("7.0.0")) is None


@on_the_device
@pytest.mark.parametrize(
    "make", [models.mobilenet, models.residual, models.one_dimensional, more.beside], ids=lambda make: make.__name__
)
def test_constants_arena_and_scratch_are_as_predicted(make, tmp_path: Path) -> None:
    boards = [*data(make(tmp_path), "--target", "cortex-m4", "--target", "cortex-m55")["checks"]]
    assert boards
    for board in boards:
        memory = board["memory"]
        for kind in ("constants", "arena", "scratch"):
            assert memory[kind]["found"] == memory[kind]["predicted"]
        assert sum(memory["flash_by_owner"].values()) == board["flash"]
        assert sum(memory["ram_by_owner"].values()) + memory["scratch"]["found"] == board["ram"]
        assert memory["ram_by_owner"]["arena"] == memory["arena"]["found"]
        assert memory["flash_by_owner"]["constants"] == memory["constants"]["found"] > 0
        assert all(size > 0 for size in memory["flash_by_owner"].values())


@on_the_device
def test_the_linters_layers_add_up_to_the_constants_of_the_image(tmp_path: Path) -> None:
    """Dense layers of the example take one multiplier by value in 4.0.0."""
    import json
    import subprocess
    import sys

    path = models.mobilenet(tmp_path)
    command = [sys.executable, "-m", "onnxlint_cmsis", "layers", path, "--target", "m4", "--release", "4.0.0"]
    done = subprocess.run([*command, "--output-format", "json"], capture_output=True, text=True, check=True)
    said = [layer["constants"] for layer in json.loads(done.stdout)["layers"]]
    constants = data(path)["checks"][0]["memory"]["constants"]
    assert sum(size for size in said if size) == constants["found"]


@on_the_device
def test_layers_alone_have_the_constants_of_the_whole(tmp_path: Path) -> None:
    path = models.residual(tmp_path)
    whole, alone = (data(path, *mode)["checks"][0]["memory"] for mode in ([], ["--per-layer"]))
    assert alone["constants"] == whole["constants"]
    assert alone["scratch"] == whole["scratch"]
    assert alone["arena"]["found"] <= whole["arena"]["found"]
    assert not alone["flash_by_owner"]


@on_the_device
def test_the_report_says_whose_bytes_they_are(tmp_path: Path) -> None:
    text = check(models.one_dimensional(tmp_path)).stdout.replace(str(tmp_path), "")
    flash = next(line for line in text.splitlines() if line.startswith("flash"))
    ram = next(line for line in text.splitlines() if line.startswith("RAM"))
    assert "CMSIS-NN" in flash
    assert "harness" in flash
    assert "arena" in ram
    assert "predicted (+0)" in text
    assert re.search(r"\b\d{1,3},\d{3} instructions", text)
    assert not re.search(r"\d{4}", text)  # thousands have separators
