"""Where weights and arena of an image lie, by the vendors' addresses."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.images.placement import VENDOR_MEMORIES
from onnxlint_cmsis.timing.cores import core_of
from onnxlint_cmsis.timing.memories import line_cost
from support.elf_writer import ElfSection, Function
from support.firmware_images import FLASH, M4, M55, MODEL, firmware, with_library

STM32 = {"HAL_RCC_OscConfig": Function(16)}
PICO = {"__flash_binary_start": Function(16)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(MODEL)


def memories(image, **values):
    Path("app.elf").write_bytes(image)
    settings = make_settings("m.tflite", firmware="app.elf", **values)
    (given,) = {settings.analysis.memories}
    return given[0]


@pytest.mark.parametrize(
    ("core", "cpu", "symbols", "at", "told"),
    [
        (M4, "cortex-m4", STM32, FLASH + 0x8000, ("flash", "sram")),
        (M4, "cortex-m4", {}, FLASH + 0x8000, ("unknown", "sram")),
        (M4, "cortex-m7", STM32, FLASH + 0x8000, ("flash", "tcm")),
        (M4, "cortex-m33", PICO, 0x1000_8000, ("xip", "sram")),
        (M4, "cortex-m0+", PICO, 0x1000_8000, ("xip", "sram")),
        (M4, "cortex-m0+", {}, 0x1000_8000, ("unknown", "sram")),
        (M55, "cortex-m55", {}, 0x0041_8000, ("mram", "tcm")),
        (M55, "cortex-m55", {}, 0x8001_0000, ("mram", "tcm")),
        (M55, "cortex-m55+nomve", {}, 0x8001_0000, ("mram", "tcm")),
        (M55, "cortex-m55", {}, 0x0200_4000, ("sram", "tcm")),
        (M55, "cortex-m55", {}, 0x6000_4000, ("unknown", "tcm")),
        (M55, "cortex-m85", {}, 0x0200_8000, ("unknown", "tcm")),
    ],
)
def test_addresses_tell_the_memories_where_vendors_agree(core, cpu, symbols, at, told):
    image = placed_at(at, core, symbols)
    assert memories(image, targets=[cpu]) == told


def placed_at(address, core, symbols):
    """An image whose model lies in a section of its own at an address."""
    section = ElfSection(".model", address, MODEL, "r")
    return firmware(with_library(**symbols), model=b"", core=core, more=[section])


def test_the_cpu_of_the_image_decides_where_nobody_names_one():
    assert memories(placed_at(FLASH + 0x8000, M4, STM32)) == ("flash", "sram")


def test_people_and_boards_of_people_go_first():
    image = placed_at(0x8001_0000, M55, {})
    assert memories(image, targets=["cortex-m55"], weights_in="tcm") == ("tcm", "tcm")


def test_several_targets_have_to_agree():
    image = placed_at(FLASH + 0x8000, M4, STM32)
    Path("app.elf").write_bytes(image)
    settings = make_settings("m.tflite", firmware="app.elf", targets=["cortex-m4", "cortex-m7"])
    assert {*settings.analysis.memories} == {("flash", "unknown")}


def test_a_region_of_the_map_file_that_is_called_by_its_memory_goes_first():
    Path("app.map").write_text(
        "Memory Configuration\n\nName             Origin             Length             Attributes\n"
        "FLASH            0x08000000         0x00100000         xr\n"
        "SLOWMRAM         0x60000000         0x00100000         xr\n"
        "DTCMRAM          0x20000000         0x00020000         rw\n\nLinker script and memory map\n"
    )
    assert memories(placed_at(0x6000_4000, M55, {}), targets=["cortex-m55"]) == ("mram", "tcm")


def test_the_time_uses_them_and_the_notes_say_so(capsys):
    Path("app.elf").write_bytes(placed_at(0x8001_0000, M55, {}))
    words = ["--isolated", "--firmware", "app.elf", "m.tflite", "--target", "m55", "--output-format", "json"]
    main(words)
    assert "weights-in" not in capsys.readouterr().out
    main([*words, "--clock", "250MHz"])
    (file, *_) = json.loads(capsys.readouterr().out)["files"]
    assert {str(target["time"]["memories"]) for target in file["summary"]["targets"]} == {
        str([{"weights": "mram", "arena": "tcm"}])
    }
    assert any("weights-in mram, arena-in tcm" in note for note in file["notes"])


def test_no_address_is_two_memories_and_each_has_a_figure():
    cases = [*combinations(VENDOR_MEMORIES, 2)]
    assert cases
    for first, second in cases:
        apart = first.first + first.size <= second.first or second.first + second.size <= first.first
        assert first.cpu != second.cpu or apart
    for row in VENDOR_MEMORIES:
        assert line_cost(core_of(row.cpu), row.memory, 10**8) is not None
