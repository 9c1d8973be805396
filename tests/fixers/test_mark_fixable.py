"""Which findings say that a fix answers them, exactly or with --unsafe-fixes alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis import fix, lint
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.ground.findings import Finding
from support import fixable_models, paths
from support.fix_command import run
from support.fix_command import text as said
from support.goldens import Told
from support.models import text
from support.repairable_models import convolution, float_weights, moved_weights
from support.third_party_models import needs_models

ROW = """<ir_version: 8, opset_import: ["" : 17]> agraph (float[1,8,1,128] x) => (float[1,16,1,64] y)
<float[16,8,1,5] w = {0}, int64[8] p = {0,0,0,1,0,0,0,2}> { z = Pad(x, p) y = Conv <strides=[1,2]> (z, w) }"""


def row(**settings: object) -> FileResult:
    """A 1xN convolution behind a Pad that gives wrong values, over channels that the model's input locks."""
    return lint(text(ROW).SerializeToString(), targets=["cortex-m55"], **settings)


def test_a_pad_behind_an_input_is_counted_apart() -> None:
    result = row()
    assert "CNN303" in [finding.code for finding in result.findings]
    assert (result.fixable, result.fixable_unsafely) == (0, 1)
    assert row(unsafe_fixes=True).fixable == 1


@pytest.mark.parametrize(("runtime", "says"), [("direct", (1, 0)), ("tflm", (0, 1))])
def test_a_window_behind_an_operator_that_pads_is_not_widened(runtime: str, says: tuple[int, int]) -> None:
    """Padding that is not SAME becomes a PAD operator, and the window that the runtime calls has none."""
    model = convolution((1, 8, 1, 12), (8, 8, 1, 5), pads=[0, 2, 0, 2], strides=[1, 2])
    result = lint(model.SerializeToString(), targets=["cortex-m55"], runtime=runtime)
    assert (result.fixable, result.fixable_unsafely) == says


@needs_models
def test_constants_grow_within_the_budget_or_nothing_is_promised() -> None:
    path = paths.SHARED / "cases/small/c_even.onnx"
    assert [lint(path, fix_budget_bytes=budget).fixable for budget in (511, 512)] == [0, 1]


def test_what_no_fix_may_act_on_is_not_counted() -> None:
    result = row(unfixable=["CNN303"])
    assert (result.fixable, result.fixable_unsafely) == (0, 0)


@needs_models
@pytest.mark.parametrize(("unsafe", "says"), [(False, (0, 2)), (True, (2, 0))])
def test_repairs_that_are_not_exact_are_counted_apart(unsafe: bool, says: tuple[int, int]) -> None:
    result = lint(paths.SHARED / "cases/torch/dscnn_def.onnx", targets=["cortex-m4"], unsafe_fixes=unsafe)
    assert (result.fixable, result.fixable_unsafely) == says


def grouped() -> onnx.ModelProto:
    """A layer of four groups, which 5.0.0 computes as a dense one."""
    return convolution((1, 8, 6, 6), (12, 2, 3, 3), group=4)


def saved(folder: Path, model: onnx.ModelProto, **more: object) -> Path:
    onnx.save(model, folder / "m.onnx", **more)
    return folder / "m.onnx"


def test_weights_behind_quantize_linear_are_promised_and_split(tmp_path: Path) -> None:
    path = saved(tmp_path, float_weights(grouped()))
    assert lint(path, release="5.0.0").fixable == 1
    done = run(tmp_path, "--fix", "--release", "5.0.0", "m.onnx")
    assert "becomes 4 convolutions" in said(done)
    assert lint(path, release="5.0.0").fixable == 0
    assert "CNN302" not in codes_of(path, release="5.0.0")


def test_weights_that_a_node_hands_on_are_neither_promised_nor_split(tmp_path: Path, told: Told) -> None:
    path = saved(tmp_path, moved_weights(grouped()))
    assert "CNN302" in codes_of(path, release="5.0.0")
    assert lint(path, release="5.0.0").fixable == 0
    told(said(run(tmp_path, "--fix", "--release", "5.0.0", "m.onnx")))


@pytest.mark.parametrize("build", [fixable_models.gaining, fixable_models.hazardous])
def test_a_model_without_its_external_data_is_promised_nothing(tmp_path: Path, build: Callable[[], bytes]) -> None:
    outside = {"save_as_external_data": True, "location": "m.bin", "size_threshold": 0}
    path = saved(tmp_path, onnx.load_model_from_string(build()), **outside)
    assert lint(path).fixable == 1
    (tmp_path / "m.bin").unlink()
    left = promising(path)
    assert (lint(path).fixable, lint(path, unsafe_fixes=True).fixable) == (0, 0)
    assert left
    assert not [finding for finding in left if "--fix" in finding.remedy]


def codes_of(path: Path, **settings: object) -> set[str]:
    return {finding.code for finding in lint(path, **settings).findings}


def promising(path: Path) -> list[Finding]:
    """Findings on sizes and hazards, which a fix may answer."""
    return [finding for finding in lint(path).findings if finding.code.startswith(("CNN2", "CNN3"))]


PROMISED = (
    "device/models/r042_g",
    "device/models/r064_g",
    "device/models/h_g1x1_s2",
    "device/models/h_tc_a",
    "device/models/h_g1xn_a",
    "device/models/op_k2s2p0op1_c8",
    "small/c_even",
    "small/dw128_nobias",
)
"""Cases with hazards that a repair answers; in the first two other hazards of the layer stay behind it."""


@needs_models
@pytest.mark.parametrize("name", PROMISED)
def test_a_fix_does_what_findings_promise(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes((paths.SHARED / "cases" / f"{name}.onnx").read_bytes())
    before = lint(path)
    promised = [finding for finding in before.told if finding.properties.get("fixable")]
    assert len(promised) == before.fixable
    assert bool(promised) is not name.endswith(("r042_g", "r064_g"))
    assert fix(path, write=True).written is bool(promised)
    left = {(finding.code, finding.location.node, finding.text) for finding in lint(path).told}
    assert not left & {(finding.code, finding.location.node, finding.text) for finding in promised}
