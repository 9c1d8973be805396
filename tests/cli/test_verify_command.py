"""The command `verify` tells outputs and lanes, and holds certificates that a fix wrote against files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.cli.main import main
from support.firmware_images import MODEL, firmware
from support.goldens import Told
from support.two_convolutions import BIAS, FIRST, SECOND, layers, steady_pair


def test_the_command_tells_outputs_and_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    onnx.save(layers(FIRST, SECOND, BIAS), tmp_path / "old.onnx")
    onnx.save(layers(FIRST[[2, 0, 1]], SECOND[:, [2, 0, 1]], BIAS), tmp_path / "new.onnx")
    onnx.save(layers(FIRST, SECOND, BIAS + 1), tmp_path / "lie.onnx")
    old, new, lie = (str(tmp_path / f"{name}.onnx") for name in ("old", "new", "lie"))
    assert main(["verify", old, new]) == 0
    told(capsys.readouterr().out)
    assert main(["verify", old, lie, "--output-format", "json"]) == 1
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert not output["equal"]
    assert "layer 'b_sum_made'" in output["reason"]
    assert main(["verify", old, str(tmp_path / "none.onnx")]) == 2


def test_a_certificate_makes_nothing_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    """It holds for its two files, a lie in it is named, and for others it does not count."""
    old, new = tmp_path / "old.onnx", tmp_path / "new.onnx"
    for path, data in zip((old, new), steady_pair(), strict=True):
        path.write_bytes(data)
    assert main(["verify", str(old), str(new), "--output-format", "json"]) == 0
    own = json.loads(capsys.readouterr().out)["certificate"]
    written = tmp_path / "told.json"

    def answered(certificates: object, *files: Path) -> tuple[int, str]:
        written.write_text(json.dumps(certificates))
        code = main(["verify", *map(str, files), "--certificate", str(written)])
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    good = {"version": 1, "certificates": [{"path": "any", **own}]}
    assert answered(good, old, new) == (0, f"{answered(good, old, new)[1].removesuffix(' holds')} holds")
    own["tensors"][0]["constants"][0] += 1
    assert answered(good, old, new)[0] == 1
    told(answered(good, old, new)[1])
    other = layers(FIRST, SECOND, BIAS).SerializeToString()
    third = tmp_path / "third.onnx"
    third.write_bytes(other)
    own["new"] = hashlib.sha256(other).hexdigest()
    code, text = answered(good, old, third)
    assert (code, "does not count" in text) == (1, True)
    told(answered(good, new, new)[1])
    for damaged in ([], {"version": 2, "certificates": []}, {"version": 1, "certificates": [1]}, {"version": 1}):
        assert answered(damaged, old, new)[0] == 2
    written.write_text("{")
    assert main(["verify", str(old), str(new), "--certificate", str(written)]) == 2
    assert main(["verify", str(old), str(new), "--certificate", str(tmp_path)]) == 2
    assert "--certificate" not in capsys.readouterr().out


def test_a_fix_writes_its_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str], told: Told) -> None:
    """`verify` takes it; without a fix there is none to write."""
    model, before, written = (tmp_path / name for name in ("m.onnx", "before.onnx", "told.json"))
    for path in (model, before):
        path.write_bytes(steady_pair()[0])
    options = ["--isolated", "--target", "m4", "--config", "min-gain=0"]
    main(["lint", str(model), "--fix-only", "--certificate", str(written), *options])
    (own,) = json.loads(written.read_text())["certificates"]
    assert own["new"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert main(["verify", str(before), str(model), "--certificate", str(written)]) == 0
    capsys.readouterr()
    assert main(["lint", str(model), "--certificate", str(written), *options]) == 2
    told(capsys.readouterr().err)


@pytest.mark.parametrize("names", [("app.elf", "app.elf"), ("m.tflite", "app.elf"), ("app.elf", "m.tflite")])
def test_an_image_is_no_version_of_a_model(
    names: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app, model = tmp_path / "app.elf", tmp_path / "m.tflite"
    app.write_bytes(firmware())
    model.write_bytes(MODEL)
    assert main(["verify", *(str(tmp_path / name) for name in names)]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{app}: it is an image, and verify compares models: name one in it as {app}::NAME" in told
    assert f"`onnxlint-cmsis image {app} --extract DIR`" in told
    assert main(["verify", f"{app}::g_model.tflite", str(model)]) == 0
