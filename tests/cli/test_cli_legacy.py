"""`--api legacy` on the command line: settings that belong together, findings, fixes and Q-formats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from onnxlint_cmsis.cli.main import main
from support.goldens import Told
from support.models import text

MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 4, 8, 8] x) => (float[1, 4, O, O] y) <
    float[6, 4, 3, 3] u = {0.1}, float[6] b = {0.2}, float[8, 6, 3, 3] v = {0.1}, float[4, 8, 3, 3] w = {0.1}
> {
    a = Conv<pads = [1, 1, 1, 1]>(x, u, b)
    r = Relu(a)
    c = Conv<pads = [1, 1, 1, 1]>(r, v)
    y = Conv<AUTO strides = [2, 2]>(c, w)
}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    return written(tmp_path, 'auto_pad = "SAME_LOWER",')


def written(folder: Path, padding: str) -> str:
    path = folder / "m.onnx"
    path.write_bytes(text(MODEL.replace("AUTO", padding).strip()).SerializeToString())
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    code = main(["--isolated", *options] if not options[0].isalpha() else [options[0], "--isolated", *options[1:]])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--assume", "s16"], "--assume: s16 is of another API; allowed with legacy: q7, q15, q7q15"),
        (["--release", "7.0.0"], "--release: CMSIS-NN 7.0.0 has no functions for q7 and q15; allowed: cmsis5-5.6.0,"),
        (["--runtime", "tflm"], "--api: no runtime calls the legacy functions; tflm calls the current ones"),
    ],
)
def test_settings_of_another_api_are_refused(
    options: list[str], said: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "--api", "legacy", *options, model)
    assert (code, said in err) == (2, True)


@pytest.mark.parametrize("options", [["--assume", "q7"], ["--release", "cmsis5-5.7.0"]])
def test_settings_of_the_legacy_api_need_it(options: list[str], model: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *options, model)
    assert code == 2
    assert "allowed" in err


def findings(out: str) -> list[tuple[str, str]]:
    return [(finding["code"], finding["level"]) for finding in json.loads(out)["findings"]]


def test_a_miss_of_fast_is_told_for_the_code_for_dsp_alone(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    legacy = ("--api", "legacy", "--output-format", "json", "--min-level", "note", "--select", "CNN1")
    assert findings(run(capsys, *legacy, "--target", "m4", model)[1]) == [("CNN106", "note")]  # 6 -> 8: 4/3 the work
    assert findings(run(capsys, *legacy, "--target", "m3", model)[1]) == []
    assert findings(run(capsys, *legacy, "--target", "m55", model)[1]) == []
    older = (*legacy, "--release", "cmsis5-5.8.0", "--target", "m55")
    assert findings(run(capsys, *older, model)[1]) == [("CNN106", "note")]


def test_a_fix_reaches_fast(model: str, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    legacy = ("--api", "legacy", "--target", "m4")
    code, out, _ = run(capsys, *legacy, "--fix", "--fix-policy", "route", model)
    assert (code, "6 -> 8 padded, FREE" in out) == (0, True)
    told(out)
    rows = json.loads(run(capsys, "layers", *legacy, "--output-format", "json", model)[1])["layers"]
    assert {row["kernel"] for row in rows} == {"arm_convolve_HWC_q7_fast", "arm_relu_q7"}


def test_padding_behind_is_wrong_in_fast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--api", "legacy", "--target", "m4", "--output-format", "json", "--select", "CNN3")
    upper = run(capsys, *options, written(tmp_path, 'auto_pad = "SAME_UPPER",'))
    assert (upper[0], findings(upper[1])) == (1, [("CNN302", "error")])
    assert findings(run(capsys, *options, written(tmp_path, 'auto_pad = "SAME_LOWER",'))[1]) == []


def test_formats_in_a_table(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 4, 8, 8), np.float32))
    asked = ("layers", "--api", "legacy", "--target", "m4")
    unknown = run(capsys, *asked, model)[1]
    told(unknown)
    known = run(capsys, *asked, "--calibration", str(tmp_path / "x.npy"), model)[1]
    told(" ".join(known.split()))
    code, _, err = run(capsys, *asked, "--calibration", str(tmp_path / "none.npy"), model)
    assert code == 2
    told(err)
