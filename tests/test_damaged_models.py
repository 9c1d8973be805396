"""Damaged models end in findings, never in an internal error, a killed process or an endless run."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys

import pytest

import example_models
import mutate_models
from support import fixable_models, paths, resizable_models
from support.draws import draws
from support.elf_writer import archive, intel_hex, uf2
from support.firmware_images import APPLICATION, FLASH, MODEL, firmware
from support.tflite_writer import restore, write
from support.tree_copy import TreeCopy

COUNT = int(os.environ.get("ONNXLINT_MUTATIONS") or 2 * draws(200))
SMALL = 70_000
"""Bytes up to which a third-party model is taken: more of the damage then hits its structure."""
ALL = [name for name, step in mutate_models.STEPS.items() if not step.image]
QUICK = "lint,layers,layers-legacy,memory,widths"
"""Commands that neither fix nor write a page."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of every style of quantization, of several layers, and small ones of others where they are there."""
    models = tmp_path_factory.mktemp("models")
    for make in (example_models.mobilenet, example_models.residual, example_models.one_dimensional):
        make(models)
    example_models.dead_lanes(models, 9)
    for make in (fixable_models.gaining, fixable_models.dead, fixable_models.hazardous):
        (models / f"{make.__name__}.onnx").write_bytes(make())
    for make in (resizable_models.integer_model, resizable_models.branch_model):
        (models / f"{make.__name__}.onnx").write_bytes(make().SerializeToString())
    (models / "qdq.onnx").write_bytes(resizable_models.qdq_model(bias=True).SerializeToString())
    with gzip.open(paths.DATA / "tflm_sample.jsonl.gz", "rt") as lines:
        for number, line in enumerate(lines):
            (models / f"{number}.tflite").write_bytes(write(restore(json.loads(line)["model"])))
    for path in (paths.SHARED / "models").glob("*.onnx"):
        if path.stat().st_size < SMALL:
            (models / path.name).write_bytes(path.read_bytes())
    return models


@pytest.mark.parametrize(("commands", "count"), [(",".join(ALL), COUNT), (QUICK, 3 * COUNT)], ids=["all", "quick"])
def test_no_damaged_model_is_an_internal_error(folder, commands, count):
    """400 in limited memory, 50 at a push; ONNXLINT_MUTATIONS takes more. The script's docs say how to look at one."""
    seed = commands.count(",")  # other models for each list of commands
    options = ["--count", str(count), "--commands", commands, "--seed", str(seed)]
    command = [sys.executable, mutate_models.__file__, str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    readable = re.fullmatch(rf"{count} damaged models, (\d+) of them readable, 0 complaints\n", done.stdout)
    assert readable, done.stdout
    assert 0.2 * count < int(readable[1]) < count


def test_no_damaged_image_is_an_internal_error(tmp_path):
    """ELF files and libraries with damage to headers, symbols and members; hex and UF2 with that of bytes."""
    (tmp_path / "app.elf").write_bytes(firmware())
    (tmp_path / "reference.axf").write_bytes(firmware(APPLICATION))
    (tmp_path / "lib.a").write_bytes(archive({"a.o": firmware(), "a_name_that_is_a_long_one.o": firmware()}))
    (tmp_path / "app.hex").write_bytes(intel_hex(FLASH, MODEL))
    (tmp_path / "app.uf2").write_bytes(uf2(FLASH, MODEL))
    commands = ",".join(name for name, step in mutate_models.STEPS.items() if step.image)
    command = [sys.executable, mutate_models.__file__, str(tmp_path), "--count", str(COUNT), "--commands", commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    readable = re.fullmatch(rf"{COUNT} damaged models, (\d+) of them readable, 0 complaints\n", done.stdout)
    assert readable, done.stdout
    assert 0.1 * COUNT < int(readable[1]) < COUNT
    assert f"(image {COUNT}, image-lint {COUNT}, image-compare {COUNT})" in done.stderr


def test_words_that_a_command_does_not_know_are_told():
    """Without it each number would end with 2, as for a model that cannot be read."""
    assert mutate_models.troubles("onnxlint-cmsis: error: unrecognized arguments: --odd; see onnxlint-cmsis --help")
    assert not mutate_models.troubles("onnxlint-cmsis: error: app.elf: it ends within the header")


BROKEN = """

_sound = layers_report


def layers_report(path, *given, **named):
    size = os.stat(path).st_size
    if size % 3 == 0:
        raise KeyError("odd")
    if size % 3 == 1:
        os.abort()
    return _sound(path, *given, **named)
"""


def test_an_error_and_an_end_of_the_process_are_told(folder, tmp_path, told):
    """What the test above relies on: the script tells of both, and goes on behind a model that ends the process."""
    copy = TreeCopy(tmp_path, ["scripts"])
    copy.append("onnxlint_cmsis/cli/engine.py", f"\n\nimport os\n{BROKEN}")
    done = copy.python("scripts/mutate_models.py", str(folder), "--count", "40", "--commands", "layers,memory")
    assert done.returncode == 1, done.stderr
    assert "KeyError: 'odd' at " in done.stdout
    told(done.stdout)
    assert done.stdout.splitlines()[-1].startswith("40 damaged models, ")
