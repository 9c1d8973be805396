"""The generated C against the signatures of each release, by the cross compiler; no kernels are needed for that."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import pytest

from firmware_check.arena import plan
from firmware_check.boards import BOARDS
from firmware_check.emit import HERE, model_source, sweep_source
from firmware_check.opening import Options, open_model
from support import firmware_models as more
from support.firmware_models import every_form
from support.firmware_runs import data, needs_firmware
from support.firmware_signatures import RELEASES, Stub, write_headers

pytestmark = needs_firmware


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
    """By a variable, a field or a comment: reference code, element-wise functions, pad, concatenation, softmax."""
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


def test_plain_c_stands_in_for_what_a_copy_lacks(tmp_path: Path) -> None:
    """The default copy of 4.0.0 has none of these; reference code is right to one unit, in place where it may be."""
    check = data(every_form(tmp_path))["checks"][0]
    assert check["agrees"]
    plain = {layer["node"] for layer in check["layers"] if layer["reference_code"]}
    assert plain == {"pad", "add", "mul", "up", "softmax"}
    assert not check["not_run"]
