"""Whose kernels an image has, CMSIS-NN's or TensorFlow Lite Micro's own, after -flto and without symbols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.build import read_build
from onnxlint_cmsis.images.facts import facts_of
from support.elf_writer import ElfSection, Function
from support.firmware_images import APPLICATION, FLASH, LIBRARY, M55, MODEL, firmware
from support.pte_programs import random_program

ARGUMENTS = "EP13TfLiteContextP10TfLiteNode"
CONV = f"_ZN6tflite11ConvPrepare{ARGUMENTS}"
DEPTHWISE = f"_ZN6tflite20DepthwiseConvPrepare{ARGUMENTS}"
DENSE = f"_ZN6tflite12_GLOBAL__N_121FullyConnectedPrepare{ARGUMENTS}"
ADD = f"_ZN6tflite10AddPrepare{ARGUMENTS}"
OWN = f"_ZN6tflite12_GLOBAL__N_17Prepare{ARGUMENTS}.lto_priv.0"
"""What a kernel of CMSIS-NN registers."""
UNTOLD = "does not tell whether kernels of CMSIS-NN or TensorFlow Lite Micro's own compute"
REFERENCE, RUNS = "RUNS, without CMSIS-NN", "RUNS"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def whole_program(*names: str, library: Mapping[str, Function] | None = None, files: tuple[str, ...] = ()) -> bytes:
    """An image after -flto: no registration is left, functions are local."""
    functions = {"main": Function(64), "_ZN6tflite14MicroAllocatorD1Ev": Function(16)}
    functions |= dict.fromkeys(names, Function(64)) | dict(library or {})
    return firmware(functions, local=True, more=[texts(*files)] if files else [])


def texts(*files: str) -> ElfSection:
    """Texts with names of sources, as checks leave them."""
    data = b"".join(f"tensorflow/lite/micro/kernels/{file}\0".encode() for file in files)
    return ElfSection(".rodata.str", FLASH + 0x20_0000, data, "r")


def linted(
    capsys: pytest.CaptureFixture[str], content: bytes, *, name: str = "app.elf"
) -> tuple[set[str], list[str], str]:
    """The words of the verdicts, the findings on the build and the notes at the model."""
    Path(name).write_bytes(content)
    main(["--isolated", "--release", "main", "--output-format", "json", name])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    model = report["files"][0]
    codes = [finding["code"] for finding in report["findings"] if finding["code"].startswith("CNN7")]
    return {verdict["word"] for verdict in model["verdicts"]}, codes, " ".join(model["notes"])


@pytest.mark.parametrize("symbol", [CONV, f"{CONV}.lto_priv.0", DEPTHWISE, DENSE, ADD])
def test_functions_that_reference_kernels_alone_register_tell_them_after_lto(
    symbol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, codes, notes = linted(capsys, whole_program(symbol))
    assert (words, codes) == ({REFERENCE}, ["CNN702"])
    assert UNTOLD not in notes


def test_operators_of_reference_kernels_are_named_after_lto(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.elf").write_bytes(whole_program(CONV, DEPTHWISE))
    main(["--isolated", "--output-format", "concise", "app.elf"])
    assert "kernels of TensorFlow Lite Micro for CONV_2D, DEPTHWISE_CONV_2D and no function of CMSIS-NN" in " ".join(
        capsys.readouterr().out.split()
    )
    build = read_build("app.elf")
    told = {fact.key: (fact.value, fact.certainty) for fact in facts_of(build)}
    assert (told["kernels"], told["cmsis_nn"]) == (("reference", "sure"), ([], "sure"))


def test_a_kernel_without_cmsis_nn_is_named_beside_those_that_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    library = {"arm_fully_connected_s8.constprop.0": Function(64)}
    words, codes, _ = linted(capsys, whole_program(CONV, OWN, library=library))
    assert (words, codes) == ({RUNS}, ["CNN702"])
    assert linted(capsys, whole_program(CONV, OWN, library=LIBRARY))[1] == []  # a function for CONV_2D is there


@pytest.mark.parametrize(
    ("library", "files"),
    [(LIBRARY, ()), (LIBRARY, ("cmsis_nn/conv.cc", "conv_common.cc")), ({}, ("cmsis_nn/conv.cc", "conv_common.cc"))],
)
def test_cmsis_nn_after_lto_is_sound(
    library: Mapping[str, Function], files: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    words, codes, notes = linted(capsys, whole_program(OWN, library=library, files=files))
    assert (words, codes) == ({RUNS}, [])
    assert UNTOLD not in notes


def test_what_lto_leaves_no_name_of_is_said_to_be_untold(capsys: pytest.CaptureFixture[str]) -> None:
    words, codes, notes = linted(capsys, whole_program(OWN))
    assert (words, codes) == ({RUNS}, [])
    assert f"app.elf {UNTOLD}: link-time optimization left no name that tells it. Costs are those of CMSIS-NN" in notes
    assert "perhaps without CMSIS-NN" in _notes_of_image(capsys)


def test_a_model_of_another_runtime_has_no_kernels_untold(capsys: pytest.CaptureFixture[str]) -> None:
    content = bytes(64) + random_program(3, Isa.DSP).data()
    assert UNTOLD not in linted(capsys, content, name="app.bin")[2]
    assert UNTOLD in linted(capsys, bytes(64) + MODEL, name="app.bin")[2]


def _notes_of_image(capsys: pytest.CaptureFixture[str]) -> str:
    main(["--isolated", "--output-format", "json", "app.elf"])
    notes: list[str] = json.loads(capsys.readouterr().out)["files"][1]["notes"]
    return " ".join(notes)


def test_a_stated_build_leaves_nothing_untold(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.onnxlint-cmsis]\ncmsis-nn-build = "NONE"\n')
    Path("app.elf").write_bytes(whole_program(OWN))
    main(["--output-format", "json", "app.elf"])
    model = json.loads(capsys.readouterr().out)["files"][0]
    assert {verdict["word"] for verdict in model["verdicts"]} == {REFERENCE}
    assert UNTOLD not in " ".join(model["notes"])


@pytest.mark.parametrize("file", ["conv_common.cc", "depthwise_conv_common.cc", "fully_connected.cc"])
def test_sources_beside_which_cmsis_nn_leaves_its_own_may_tell_reference_kernels(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytes(64) + bytes(texts(file).data) + bytes(-len(texts(file).data) % 16) + MODEL
    words, codes, notes = linted(capsys, content, name="app.bin")
    assert (words, codes) == ({RUNS}, ["CNN702"])
    assert UNTOLD in notes
    both = texts(file, "cmsis_nn/conv.cc").data
    content = bytes(64) + bytes(both) + bytes(-len(both) % 16) + MODEL
    words, codes, notes = linted(capsys, content, name="app.bin")
    assert (words, codes) == ({RUNS}, [])
    assert UNTOLD not in notes


def test_a_function_of_reference_kernels_that_nothing_drops_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without -flto and without --gc-sections it is there though kernels of CMSIS-NN are registered."""
    functions = {**APPLICATION, **LIBRARY, CONV: Function(64)}
    assert "CNN702" not in linted(capsys, firmware(functions))[1]


def test_reference_kernels_are_told_on_a_core_with_mve_too(capsys: pytest.CaptureFixture[str]) -> None:
    content = firmware({"main": Function(64), CONV: Function(64)}, local=True, core=M55)
    assert linted(capsys, content)[:2] == ({REFERENCE}, ["CNN702"])
