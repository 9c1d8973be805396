"""Map files of linkers beside an image: the regions of memory in them, and what a model is judged for by these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.images.build import Build, read_build
from onnxlint_cmsis.images.facts import facts_of
from support.firmware_images import firmware

GNU = """\
Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x08000000         0x00080000         xr
RAM              0x20000000         0x0001c000
CCM              0x10000000         0x00004000         xrw
*default*        0x00000000         0xffffffff

Linker script and memory map
"""
ARMLINK = """\
    Load Region LR_IROM1 (Base: 0x08000000, Size: 0x000004b8, Max: 0x00080000, ABSOLUTE)

  Execution Region ER_IROM1 (Exec base: 0x08000000, Load base: 0x08000000, Size: 0x00000498, Max: 0x00080000, ABSOLUTE)

    Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        Object

    0x08000000   0x08000000   0x00000188   Data   RO            3    RESET               startup.o

    Execution Region RW_IRAM1 (Base: 0x20000000, Size: 0x00000400, Max: 0x0001c000, ABSOLUTE, COMPRESSED[0x000001c0])

    0x20000000        -       0x00000400   Zero   RW            1    STACK               startup.o

    Execution Region CCM (Base: 0x10000000, Size: 0x00000400, Max: 0x00004000, ABSOLUTE)

    0x10000000   0x08000498   0x00000400   Data   RW            1    .ccm                main.o

    Execution Region ER_ANY (Base: 0x30000000, Size: 0x00000400, Max: 0xffffffff, ABSOLUTE)
"""
LLD = """\
     VMA      LMA     Size Align Out     In      Symbol
 8000000  8000000      4f0     4 .text
"""
KIB = 1024


@pytest.fixture(name="image")
def _image(tmp_path: Path) -> Path:
    image = tmp_path / "app.elf"
    image.write_bytes(firmware())
    return image


def facts(image: Path, key: str) -> list[tuple[object, str]]:
    """Values and certainties of the facts of a key."""
    return [(fact.value, fact.certainty) for fact in facts_of(read_build(str(image))) if fact.key == key]


@pytest.mark.parametrize(
    ("text", "flash"), [(GNU, "FLASH"), (ARMLINK, "ER_IROM1"), (ARMLINK.replace("\n", "\r\n"), "ER_IROM1")]
)
@pytest.mark.parametrize("name", ["app.map", "app.elf.map"])
def test_regions_are_told(text: str, flash: str, name: str, image: Path) -> None:
    image.with_name(name).write_text(text, encoding="utf-8", newline="")
    rows = {value["name"]: value for value, _ in facts(image, "region") if isinstance(value, dict)}
    sizes = [(row["address"], row["size"], row["writable"]) for row in rows.values()]
    assert sizes == [
        (0x0800_0000, 512 * KIB, False), (0x2000_0000, 112 * KIB, True), (0x1000_0000, 16 * KIB, True),
    ]  # fmt: skip
    assert flash in rows
    assert {certainty for _, certainty in facts(image, "region")} == {"sure"}
    assert facts(image, "map") == []


def test_a_map_without_regions_is_said_to_have_none(image: Path) -> None:
    image.with_suffix(".map").write_text(LLD, encoding="utf-8")
    assert facts(image, "region") == []
    assert facts(image, "map") == [("ld.lld", "sure")]


@pytest.mark.parametrize("text", ["", "  Memory Configuration", "\0" * 100])
def test_what_is_no_map_tells_nothing(text: str, image: Path) -> None:
    image.with_suffix(".map").write_text(text, encoding="utf-8")
    assert facts(image, "region") == facts(image, "map") == []


@pytest.mark.parametrize("text", [GNU.replace("*default*", "RAM 0x20000000 0x00000100 xrw\n" * 999), ARMLINK * 999])
def test_of_a_hostile_map_few_regions_are_read(text: str, image: Path) -> None:
    image.with_suffix(".map").write_text(text, encoding="utf-8")
    assert len(facts(image, "region")) <= 100


def test_a_map_that_is_cut_has_no_regions(image: Path) -> None:
    image.with_suffix(".map").write_text("Execution Region X (Base: 0x2000", encoding="utf-8")
    build = read_build(str(image))
    assert isinstance(build, Build)
    assert build.memory
    assert build.memory.mapped_by == "armlink"
    assert facts(image, "region") == []


SECTIONS = """\

.text           0x08000000      0x{text:x}
 .text          0x08000000       0x40 main.o
.rodata_of_a_long_name
                0x08008000      0x100
.bss            0x20000000     0x1000
"""


def section_sizes(image: Path) -> dict[str, int]:
    """Bytes of each section."""
    build = read_build(str(image))
    assert isinstance(build, Build)
    return {section.name: section.size for section in build.image.sections}


def test_the_map_of_the_same_link_is_used(image: Path) -> None:
    text = SECTIONS.format(text=section_sizes(image)[".text"])
    image.with_suffix(".map").write_text(GNU + text, encoding="utf-8")
    assert len(facts(image, "region")) == 3
    assert facts(image, "map") == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_map_of_an_older_link_is_not_used(end: str, image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = section_sizes(image)[".text"]
    text = GNU + SECTIONS.format(text=size - 4)
    image.with_suffix(".map").write_text(text, encoding="utf-8", newline=end)
    assert facts(image, "region") == []
    assert rooms(image, capsys) == (None, None)
    main(["image", str(image)])
    told = f".text has {size - 4:,} bytes there and {size:,} in the image"
    assert told in " ".join(capsys.readouterr().out.split())
    main([str(image)])
    said = f"The map file beside it is of another link and is not used: {told}."
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("text", [GNU, ARMLINK])
def test_a_map_whose_regions_do_not_hold_the_image_is_not_used(
    text: str, image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that of a bootloader that lies elsewhere."""
    image.with_suffix(".map").write_text(text.replace("0x08000000", "0x00000000"), encoding="utf-8")
    assert facts(image, "region") == []
    assert facts(image, "map") != []
    assert rooms(image, capsys) == (None, None)
    main([str(image)])
    assert ".text of the image, at 0x08000000, lies in no region of it." in " ".join(capsys.readouterr().out.split())


def rooms(image: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[object, object]:
    """RAM and flash that the model in an image is judged for."""
    main([str(image), "--output-format", "json", *options])
    verdict = json.loads(capsys.readouterr().out)["files"][0]["verdicts"][0]
    return verdict["ram_room"], verdict["flash_room"]


def test_a_model_is_judged_for_the_largest_regions(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rooms(image, capsys) == (None, None)
    image.with_suffix(".map").write_text(GNU, encoding="utf-8")
    assert rooms(image, capsys) == (112 * KIB, 512 * KIB)
    assert rooms(image, capsys, "--ram", "64K") == (64 * KIB, 512 * KIB)


def test_flash_that_the_map_calls_writable_is_no_room(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The region that is left may be one that the model does not lie in."""
    otp = "OTP 0x1FF00000 0x00000400 r\n*default*".lower()
    regions = GNU.replace("xr\n", "xrw\n").replace("*default*", otp)
    image.with_suffix(".map").write_text(regions, encoding="utf-8")
    assert rooms(image, capsys)[1] is None


def test_a_board_that_is_named_goes_before_the_regions(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = rooms(image, capsys, "--board", "nucleo-f401re")
    image.with_suffix(".map").write_text(GNU, encoding="utf-8")
    assert rooms(image, capsys, "--board", "nucleo-f401re") == board != (None, None)


def test_a_model_that_no_region_has_room_for_does_not_fit(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = GNU.replace("0x0001c000", "0x00000010").replace("0x00004000", "0x00000010")
    image.with_suffix(".map").write_text(small, encoding="utf-8")
    assert main([str(image), "--output-format", "json"]) == 1
    verdict = json.loads(capsys.readouterr().out)["files"][0]["verdicts"][0]
    assert (verdict["fits"], verdict["ram_room"]) == (False, 16)
