"""`compare` of two images: what a build changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.cli.main import main
from support.elf_writer import ElfSection, ElfSymbol, Function, archive, attributes, elf, intel_hex, placed
from support.firmware_images import FLASH, M55, MODEL, RAM, REGISTER_CONV, REGISTER_SOFTMAX, firmware, with_library

GAP = Function(64)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with an image."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("old.elf").write_bytes(firmware())


def changes(capsys: pytest.CaptureFixture[str], new: bytes, old: str = "old.elf") -> dict[str, dict[str, Any]]:
    """What changed from an image to another, by key."""
    path = Path(f"new{Path(old).suffix}")
    path.write_bytes(new)
    assert main(["compare", old, str(path), "--output-format", "json"]) == 0
    return {row["key"]: row for row in json.loads(capsys.readouterr().out)["changes"]}


def test_the_same_image_has_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert changes(capsys, firmware()) == {}
    assert main(["compare", "old.elf", "new.elf"]) == 0
    assert capsys.readouterr().out == "old.elf -> new.elf\n  Nothing that they tell differs.\n"


def test_another_core_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    core = changes(capsys, firmware(core=M55))["core"]
    assert core["before"]["value"] == "Armv7E-M"
    assert core["after"]["value"] == "cortex-m55"
    assert core["certainty"] == "sure"


def test_functions_that_came_and_went_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    functions = with_library(arm_avgpool_s8=GAP)
    del functions["arm_convolve_1x1_s8_fast"]
    row = changes(capsys, firmware(functions))["cmsis_nn"]
    assert (row["came"], row["went"]) == (["arm_avgpool_s8"], ["arm_convolve_1x1_s8_fast"])
    assert row["text"] == "1 new: arm_avgpool_s8; 1 gone: arm_convolve_1x1_s8_fast"


def test_functions_that_may_be_inlined_are_not_gone_for_sure(capsys: pytest.CaptureFixture[str]) -> None:
    functions = with_library()
    del functions["arm_convolve_1x1_s8_fast"]
    assert changes(capsys, firmware(functions))["cmsis_nn"]["certainty"] == "sure"
    assert changes(capsys, firmware(functions, local=True))["cmsis_nn"]["certainty"] == "may"


def test_a_library_that_lost_its_optimization_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    slow = with_library(arm_nn_mat_mult_nt_t_s8=Function(4000, frame=3280, smlad=16, dsp=32))
    row = changes(capsys, firmware(slow))["cmsis_nn_optimized"]
    assert row["before"]["value"] is True
    assert row["after"]["value"] is False


def test_an_operator_that_is_registered_moves_from_the_linked_ones(capsys: pytest.CaptureFixture[str]) -> None:
    both = Function(64, calls={REGISTER_CONV: 1, REGISTER_SOFTMAX: 1})
    told = changes(capsys, firmware(with_library(main=both)))
    assert (told["operators"]["came"], told["operators"]["went"]) == (["SOFTMAX"], [])
    assert (told["operators_linked"]["came"], told["operators_linked"]["went"]) == ([], ["SOFTMAX"])


def test_memory_and_the_resolver_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = changes(capsys, firmware(arena=3072, room=5))
    assert told["arena"]["text"].endswith("tensor_arena: 2,048 -> 3,072 bytes")
    assert told["arena"]["certainty"] == "may"
    assert told["resolver"]["text"] == "room for 2 operators -> room for 5 operators"


def test_a_model_that_moved_to_ram_is_told_with_what_that_takes(capsys: pytest.CaptureFixture[str]) -> None:
    told = changes(capsys, firmware(model_at=RAM + 0x1004, ram=True))
    assert told["model"]["text"] == "g_model.tflite: in flash -> RAM, aligned to 16 -> 4"
    assert told["ram"]["text"] == f"4,096 -> {4096 + 4 + len(MODEL):,} bytes (+{4 + len(MODEL):,})"


def test_an_address_alone_is_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert "model" not in changes(capsys, firmware(model_at=FLASH + 0x8010))


def test_another_model_of_the_same_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    other = bytearray(MODEL)
    other[-1] ^= 1
    assert changes(capsys, firmware(model=bytes(other)))["model"]["text"] == "g_model.tflite: another model"


def test_models_that_came_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.hex").write_bytes(intel_hex(FLASH, bytes(64) + MODEL))
    other = bytearray(MODEL)
    other[-1] ^= 1
    row = changes(capsys, intel_hex(FLASH, bytes(64) + MODEL + bytes(64) + bytes(other)), "old.hex")["model"]
    assert row["before"] is None
    assert row["text"].startswith("new: model_2.tflite")


def test_what_a_stripped_image_does_not_tell_is_not_gone(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = placed({"main": Function(64)}, FLASH)
    sections = [ElfSection(".text", FLASH, text, "rx"), ElfSection(".rodata", FLASH + 0x8000, MODEL, "r")]
    told = changes(capsys, elf(sections, []))
    assert told["cmsis_nn"]["text"] == "2 functions -> not told"
    assert told["cmsis_nn"]["went"] == []
    assert told["arena"]["text"].endswith("aligned to 16 -> not told")


def test_libraries_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    def library(*names: str) -> bytes:
        code = {name: Function(200) for name in names}
        text, places = placed(code, 0)
        sections = [ElfSection(".text", 0, text, "rx"), ElfSection(".ARM.attributes", 0, attributes({5: "7E-M"}), "-")]
        return archive({"a.o": elf(sections, [ElfSymbol(name, places[name], 200) for name in names], kind=1)})

    Path("old.a").write_bytes(library("arm_nn_mat_mult_nt_t_s8"))
    row = changes(capsys, library("arm_nn_mat_mult_nt_t_s8", "arm_avgpool_s8"), "old.a")["cmsis_nn"]
    assert (row["came"], row["went"]) == (["arm_avgpool_s8"], [])


def test_a_figure_that_grows_beyond_its_limit_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.elf").write_bytes(firmware(arena=3072))
    words = ["compare", "old.elf", "new.elf", "--fail-on-increase"]
    assert main([*words, "arena=60%,flash=0"]) == 0
    assert main([*words, "arena=1023"]) == 1
    assert "arena: 2,048 -> 3,072 (+50.0 %) bytes, more than --fail-on-increase allows" in capsys.readouterr().out
    assert main([*words, "arena=1023", "--output-format", "markdown"]) == 1
    assert "over the limit" in capsys.readouterr().out


def test_a_limit_for_what_is_not_told_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.hex").write_bytes(intel_hex(FLASH, MODEL))
    assert main(["compare", "old.hex", "old.hex", "--fail-on-increase", "ram=0"]) == 2
    assert "old.hex does not tell it" in capsys.readouterr().err
    assert main(["compare", "old.elf", "old.elf", "--fail-on-increase", "instructions=0"]) == 2
    assert "there are flash, ram, arena" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("new.elf", firmware()[:40], "within the header"),
        ("new.bin", bytes(100), "nothing in it tells"),
        ("new.a", b"!<arch>\n", "nothing in it tells"),
        ("new.tflite", MODEL, "the model in it is old.elf::NAME"),
        ("none.elf", None, "none.elf: "),
    ],
)
def test_what_cannot_be_compared_ends_with_2(
    name: str, content: bytes | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    assert main(["compare", "old.elf", name]) == 2
    assert said in capsys.readouterr().err


def test_an_image_of_a_commit_is_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], check=True)
    Path("old.elf").write_bytes(firmware(arena=3072))
    assert main(["compare", "HEAD:old.elf", "old.elf"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("HEAD:old.elf -> old.elf\n")
    assert "2,048 -> 3,072 bytes" in shown
