"""MNIST on the device, where the model and the images are beside the project."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support import paths
from support.firmware_runs import needs_firmware

ROOT = paths.ROOT
MODEL = paths.SHARED / "models" / "mnist_cntk_op8.onnx"

pytestmark = [
    needs_firmware,
    pytest.mark.skipif(not MODEL.is_file(), reason="needs MNIST in a folder `shared` beside the project"),
]


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_the_device_classifies_as_well_as_float(core: str) -> None:
    files = [paths.SHARED / "data" / "mnist" / f"t10k-{name}.gz" for name in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    script = [sys.executable, "scripts/mnist_firmware.py", str(MODEL), *map(str, files)]
    done = subprocess.run(
        [*script, "--images", "500", "--target", core],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 3
    accuracies = [float(line.split(" %")[0].split()[-1]) for line in done.stdout.splitlines()]
    assert min(accuracies) > 97
