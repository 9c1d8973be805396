"""Images that the firmware check builds: what they tell is what it built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import example_models as models
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.build import Build, read_build
from support.firmware_runs import check, needs_firmware

pytestmark = needs_firmware

CORES = {"cortex-m3": Isa.SCALAR, "cortex-m4": Isa.DSP, "cortex-m55": Isa.MVE}


def test_core_release_compiler_and_kernels_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels of convolutions and pools of a residual net are functions of the image."""
    model = str(models.residual(tmp_path))
    targets = [word for core in CORES for word in ("--target", core.removeprefix("cortex-"))]
    done = check(model, *targets, "--keep", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    for core, isa in CORES.items():
        image = tmp_path / "kept" / f"residual-{core}" / "model.elf"
        build = read_build(str(image))
        assert isinstance(build, Build)
        assert build.cpu == core
        assert build.compilers[0].setting.startswith("gcc@")
        assert build.library
        assert (build.library.isa, build.library.large_frames, build.library.copying) == (isa, (), ())
        assert "4.0.0" in build.library.releases
        options = ["--isolated", "--release", "4.0.0", "--target", core, "--output-format", "json"]
        assert main(["layers", model, *options]) == 0
        told = json.loads(capsys.readouterr().out)
        kernels = {layer["kernel"] for layer in told["layers"] if layer["op"] != "Add"}  # which is in plain C
        assert kernels
        assert kernels <= build.library.functions.keys()
        assert main(["--isolated", "--select", "CNN7", str(image)]) == 0
        assert "No findings in 1 file" in capsys.readouterr().out
