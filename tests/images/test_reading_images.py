"""Readers of images: ELF, archives, Intel HEX, UF2, plain bytes; models in them; damaged ones are refused."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.build import Build, LibraryBuild, read_build
from onnxlint_cmsis.images.facts import facts_of
from onnxlint_cmsis.images.image import ImageError
from support.elf_writer import (
    ElfSection,
    ElfSymbol,
    Function,
    archive,
    attributes,
    elf,
    intel_hex,
    placed,
    uf2,
)
from support.firmware_images import APPLICATION, FLASH, M4, M55, MODEL, RAM, firmware, with_library
from support.rule_examples import VECTORS


def told(path: Path, content: bytes) -> dict[str, object]:
    """Facts of a file by key."""
    path.write_bytes(content)
    return {fact.key: fact.value for fact in facts_of(read_build(str(path)))}


def test_an_elf_tells_its_build(tmp_path: Path) -> None:
    facts = told(tmp_path / "app.elf", firmware())
    assert facts["architecture"] == "Armv7E-M"
    assert facts["compilers"] == ["GCC: (15:12.2.rel1-1) 12.2.1 20221205"]
    assert facts["cmsis_nn"] == ["arm_convolve_1x1_s8_fast", "arm_nn_mat_mult_nt_t_s8"]
    assert facts["cmsis_nn_isa"] == "dsp"
    assert facts["runtime"] == "tflm"
    assert facts["operators"] == ["CONV_2D"]
    assert facts["operators_linked"] == ["SOFTMAX"]
    assert facts["resolver"] == 2
    model = facts["model"]
    assert isinstance(model, dict)
    assert (model["name"], model["size"], model["memory"], model["aligned"]) == (
        "g_model.tflite", len(MODEL), "flash", 16
    )  # fmt: skip


ARMLINK = "Component: Arm Compiler for Embedded 6.22 Tool: armlink [5f0e5800]\0ArmLink --strict --cpu={}"


@pytest.mark.parametrize(
    ("named", "core", "extension"),
    [
        ("Cortex-M4.fp.sp", "cortex-m4", Isa.DSP), ("Cortex-M0plus", "cortex-m0+", Isa.SCALAR),
        ("Cortex-M33", "cortex-m33", Isa.DSP), ("Cortex-M33.no_dsp", "cortex-m33", Isa.SCALAR),
        ("Cortex-M55", "cortex-m55", Isa.MVE), ("Cortex-M55.no_mve", "cortex-m55", Isa.DSP),
    ],
)  # fmt: skip
def test_the_core_that_armlink_wrote_is_told(named: str, core: str, extension: Isa, tmp_path: Path) -> None:
    path = tmp_path / "app.axf"
    path.write_bytes(firmware(core={}, comment=ARMLINK.format(named)))
    build = read_build(str(path))
    (fact,) = (fact for fact in facts_of(build) if fact.key == "cpu")
    assert (fact.value, fact.certainty, fact.evidence) == (core, "sure", f".comment: --cpu {core}")
    assert build.extension is extension
    assert [compiler.setting for compiler in build.compilers if compiler.setting] == ["armclang@6.22"]


LLD = "Linker: Debian LLD 19.1.7"
M33_LIBRARY: Mapping[int, int | str] = {5: "8-M.MAIN", 6: 17}
"""Attributes of a C library, which names no core."""


@pytest.mark.parametrize(
    ("core", "mve", "key", "value", "certainty"),
    [
        (M33_LIBRARY, 40, "architecture", "Armv8.1-M Mainline", "sure"),
        (M33_LIBRARY, 0, "cpu", "cortex-m33", "may"),
        ({5: "cortex-m33", 6: 17, 46: 1}, 0, "cpu", "cortex-m33", "sure"),
        ({5: "7-M", 6: 10}, 0, "architecture", "Armv7E-M", "sure"),
    ],
)
def test_of_one_file_that_lld_kept_the_core_is_sure_where_code_or_a_name_tells_it(
    core: Mapping[int, int | str], mve: int, key: str, value: str, certainty: str, tmp_path: Path
) -> None:
    """The first file may be of a C library for another architecture."""
    path = tmp_path / "app.elf"
    library = with_library(arm_nn_mat_mult_nt_t_s8=Function(400, mve=mve, smlad=16, dsp=32))
    path.write_bytes(firmware(library, core=core, comment=LLD))
    (fact,) = (fact for fact in facts_of(read_build(str(path))) if fact.key in ("cpu", "architecture"))
    assert (fact.key, fact.value, fact.certainty) == (key, value, certainty)


def test_a_target_is_not_held_against_the_core_of_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.elf"
    for comment, count in ((LLD, 0), ("GCC: (GNU) 12.2.1", 1)):
        path.write_bytes(firmware(core=M33_LIBRARY, comment=comment))
        main([str(path), "--target", "m85", "--output-format", "json"])
        codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]
        assert codes.count("CNN709") == count


@pytest.mark.parametrize("named", ["Cortex-A9", "Cortex-M4 --cpu=Cortex-M33", "8-M.Main", "Cortex-M99"])
def test_a_core_that_armlink_does_not_tell_is_not_told(named: str, tmp_path: Path) -> None:
    facts = told(tmp_path / "app.axf", firmware(core={}, comment=ARMLINK.format(named)))
    assert not {"cpu", "architecture"} & facts.keys()


def test_armcc_is_no_armclang(tmp_path: Path) -> None:
    path = tmp_path / "app.axf"
    comment = "Component: ARM Compiler 5.06 update 7 (build 960) Tool: armlink [4d3601]"
    path.write_bytes(firmware(core={}, comment=comment))
    assert [compiler.setting for compiler in read_build(str(path)).compilers] == [""]


@pytest.mark.parametrize(
    ("core", "smlad", "isa"), [(M4, 64, "dsp"), (M4, 0, "scalar"), (M4, 16, None), (M55, 64, None)]
)
def test_code_without_symbols_tells_whether_dsp_is_used(
    core: Mapping[int, int | str], smlad: int, isa: str | None, tmp_path: Path
) -> None:
    text, _ = placed({"arm_nn_mat_mult_nt_t_s8": Function(600, smlad=smlad)}, FLASH)
    texts = b"Failed to get registration from op code\0src/tensorflow/lite/micro/kernels/cmsis_nn/conv.cc\0"
    sections = [
        ElfSection(".text", FLASH, text, "rx"),
        ElfSection(".rodata", FLASH + 0x8000, texts, "r"),
        ElfSection(".ARM.attributes", 0, attributes(core), "-"),
    ]
    path = tmp_path / "app.elf"
    path.write_bytes(elf(sections, []))
    facts = [(fact.value, fact.certainty) for fact in facts_of(read_build(str(path))) if fact.key == "cmsis_nn_isa"]
    assert facts == ([] if isa is None else [(isa, "may")])


@pytest.mark.parametrize("address", [FLASH + 0x8001, FLASH + 0x8004])
def test_where_a_model_begins_is_told(address: int, tmp_path: Path) -> None:
    model = told(tmp_path / "app.elf", firmware(model_at=address))["model"]
    assert isinstance(model, dict)
    assert model["aligned"] == {1: 1, 4: 4}[address & 7]


def test_a_model_that_is_not_const_lies_in_ram(tmp_path: Path) -> None:
    model = told(tmp_path / "app.elf", firmware(model_at=RAM + 0x1000, ram=True))["model"]
    assert isinstance(model, dict)
    assert model["memory"] == "RAM"


@pytest.mark.parametrize(("suffix", "wrap"), [("hex", intel_hex), ("uf2", uf2), ("bin", lambda _at, data: data)])
def test_files_for_a_programmer_show_their_models(suffix: str, wrap: object, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(1024)
    content = wrap(FLASH, noise + MODEL + noise)  # type: ignore[operator]
    path = tmp_path / f"app.{suffix}"
    path.write_bytes(content)
    build = read_build(str(path))
    assert isinstance(build, Build)
    assert build.image.form == suffix
    (model,) = build.models
    assert model.data == MODEL
    assert model.address == 1024 + (FLASH if suffix != "bin" else 0)


def test_a_library_tells_its_functions_and_kernels(tmp_path: Path) -> None:
    text, _ = placed({"arm_nn_mat_mult_nt_t_s8": Function(200, smlad=16, dsp=32)}, 0)
    member = elf(
        [ElfSection(".text", 0, text, "rx"), ElfSection(".ARM.attributes", 0, attributes({5: "7E-M", 6: 13}), "-")],
        [ElfSymbol("arm_nn_mat_mult_nt_t_s8", 0, 200), ElfSymbol("_ZN6tflite16Register_CONV_2DEv", 0, 8)],
        kind=1,
    )
    path = tmp_path / "lib.a"
    path.write_bytes(archive({"arm_nn_mat_mult_nt_t_s8.o": member, "a_very_long_name_of_a_member.o": member}))
    build = read_build(str(path))
    assert isinstance(build, LibraryBuild)
    assert build.members == 2
    assert build.registrations == ("CONV_2D",)
    assert build.library is not None
    assert build.library.isa == "dsp"


def test_extract_writes_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.elf"
    path.write_bytes(firmware())
    assert main(["image", str(path), "--extract", str(tmp_path / "out"), "--output-format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["extracted"] == [str(tmp_path / "out" / "g_model.tflite")]
    assert (tmp_path / "out" / "g_model.tflite").read_bytes() == MODEL


def test_extract_writes_into_the_folder_and_each_model_to_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of symbols are foreign: paths, letters that no file has, the same name twice, 300 characters."""
    step = -(-len(MODEL) // 16) * 16
    names = ["../../m", "..:..:m", "ä" * 300]
    padded = MODEL.ljust(step, b"\0")
    symbols = [ElfSymbol(name, FLASH + number * step, len(MODEL), "object") for number, name in enumerate(names)]
    path, out = tmp_path / "app.elf", tmp_path / "in" / "out"
    path.write_bytes(elf([ElfSection(".rodata", FLASH, padded * 3, "r")], symbols))
    assert main(["image", str(path), "--extract", str(out), "--output-format", "json"]) == 0
    written = json.loads(capsys.readouterr().out)["extracted"]
    assert len({*written}) == 3
    assert sorted(map(str, out.iterdir())) == sorted(written)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["app.elf", "in"]
    assert all(Path(name).read_bytes() == MODEL for name in written)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (firmware()[:40], "within the header"),
        (firmware()[:-100], "section headers"),
        (firmware().replace(b"\x7fELF\x01", b"\x7fELF\x02", 1), "64 bits"),
        (firmware()[:18] + bytes([94]) + firmware()[19:], "an ELF for Xtensa; allowed is one for Arm"),
        (firmware()[:18] + bytes([2]) + firmware()[19:], "an ELF for machine 2; allowed is one for Arm"),
        (firmware().replace(bytes([40, 0, 1, 0]), bytes([62, 0, 1, 0]), 1), "machine 62"),
        (b"!<arch>\n" + b"x" * 80, "no header of a member at byte 8"),
        (b":1\n", "line 1 is no record"),
    ],
)
def test_damaged_images_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "app.elf"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=said):
        read_build(str(path))


def test_a_damaged_image_ends_the_command_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.elf"
    path.write_bytes(firmware()[:40])
    assert main(["image", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_brings_an_internal_error_or_takes_long(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = tmp_path / "app.elf"
    sources = [firmware(), archive({"a.o": firmware(), "b.o": firmware()}), intel_hex(FLASH, MODEL), uf2(FLASH, MODEL)]
    read = refused = 0
    for _ in range(60):
        content = bytearray(chance.choice(sources))
        for _ in range(chance.randint(1, 8)):
            position = chance.randrange(len(content))
            damage = chance.choice((b"\xff", b"\0\0\0\x80", b"\x7f\xff\xff\xff"))
            content[position : position + len(damage)] = damage
        path.write_bytes(bytes(content[: chance.choice((len(content), chance.randrange(len(content))))]))
        started = time.perf_counter()
        try:
            facts_of(read_build(str(path)))
            read += 1
        except ImageError:
            refused += 1
        assert time.perf_counter() - started < 5
    assert read
    assert refused


@pytest.mark.parametrize("filling", [b"a", b".cc\0", b"x/micro/kernels/", b"\x1c\0\0\0TFL3", b"\xff\xf7\xfe\xff"])
def test_bytes_that_repeat_are_read_in_a_moment(filling: bytes, tmp_path: Path) -> None:
    path = tmp_path / "app.bin"
    path.write_bytes(filling * (2**21 // len(filling)))
    started = time.perf_counter()
    facts_of(read_build(str(path)))
    assert time.perf_counter() - started < 10


def test_static_functions_that_stand_by_themselves_do_not_exclude_a_release(tmp_path: Path) -> None:
    """At -O0 an inline function is a symbol, and calls others of its file, which the record does not name for it."""
    sizes = "arm_convolve_s8_get_buffer_size_mve"
    functions = {
        sizes: Function(16),
        "arm_convolve_1_x_n_s8_get_buffer_size_mve": Function(64, mve=2, calls={sizes: 1}),
    }
    assert "main" in told(tmp_path / "app.elf", firmware(with_library(**functions, **VECTORS)))["cmsis_nn_releases"]


def test_clones_of_the_linkers_optimizer_are_told_from_another_release(tmp_path: Path) -> None:
    """What arm_convolve_s8 calls is in it; a clone is a symbol of the whole program."""
    functions = {"arm_convolve_s8.constprop.0.isra.0": Function(200, smlad=16, dsp=32)}
    assert "main" in told(tmp_path / "app.elf", firmware({**APPLICATION, **functions}))["cmsis_nn_releases"]
