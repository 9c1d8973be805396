"""Libraries that hold a part of CMSIS-NN, or no code of it yet: releases are told, and nothing is called missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import onnxlint_cmsis
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.images.build import read_build
from onnxlint_cmsis.images.facts import Fact, facts_of
from support.elf_writer import ElfSection, ElfSymbol, Function, archive, elf, placed
from support.firmware_images import M4, firmware, with_library
from support.rule_examples import COPYING

BITCODE = b"BC\xc0\xde" + bytes(60)
SLIM = elf([ElfSection(".gnu.lto_.opts", 0, bytes(16), "-")], [], kind=1)
"""What gcc -flto compiles: no code."""
WRAPPED = b"\xde\xc0\x17\x0b" + bytes(60)
RECORD = Path(onnxlint_cmsis.__file__).parent / "images" / "cmsis_nn_functions.json"
FILES = ("arm_softmax_s8.c", "arm_convolve_s8.c", "arm_nn_mat_mult_kernel_row_offset_s8_s16.c")


def facts(folder: Path, members: Mapping[str, bytes]) -> dict[str, Fact]:
    """Facts of a library by key."""
    path = folder / "lib.a"
    path.write_bytes(archive(members))
    return {fact.key: fact for fact in facts_of(read_build(str(path)))}


def of_release(release: str) -> list[str]:
    """All files of a release that other files call."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    mask = 7 << 3 * record["sources"].index(release)
    return sorted({file for rows in record["functions"].values() for own, file, _ in rows if file and own & mask})


@pytest.mark.parametrize("content", [BITCODE, SLIM, WRAPPED])
def test_a_library_that_the_linker_compiles_is_told_by_its_members(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = facts(tmp_path, {file.replace(".c", ".c.o"): content for file in FILES})
    assert (told["uncompiled"].value, told["uncompiled"].certainty) == (3, "sure")
    assert (told["cmsis_nn_files"].value, told["cmsis_nn_files"].certainty) == (sorted(FILES), "may")
    releases = told["cmsis_nn_releases"]
    assert isinstance(releases.value, list)
    assert {"6.0.0", "7.0.0", "main"} <= {*releases.value}
    assert "4.0.0" not in releases.value
    assert releases.certainty == "may"
    assert main([str(tmp_path / "lib.a")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "with CMSIS-NN that is compiled when it is linked (-flto)" in said


@pytest.mark.parametrize("release", ["4.0.0", "5.0.0", "7.0.0"])
def test_a_whole_library_that_the_linker_compiles_tells_its_release(release: str, tmp_path: Path) -> None:
    told = facts(tmp_path, {f"{file}.obj": BITCODE for file in of_release(release)})
    assert isinstance(told["cmsis_nn_releases"].value, list)
    assert release in told["cmsis_nn_releases"].value


def test_kernels_that_the_linker_compiles_are_not_said_to_lack_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "cmsis_nn_files" not in facts(tmp_path, {"conv.o": BITCODE, "arm_math.o": BITCODE})
    main([str(tmp_path / "lib.a")])
    assert "It is built with code that is compiled when it is linked (-flto)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_part_of_the_library_tells_the_releases_that_have_it(tmp_path: Path) -> None:
    functions = {
        "arm_convolve_1x1_s8_fast": Function(64, calls={"arm_nn_mat_mult_nt_t_s8": 1}),
        "arm_nn_mat_mult_nt_t_s8": Function(200, smlad=16, dsp=32),
        "arm_relu6_s8": Function(40),
    }
    text, places = placed(functions, 0)
    symbols = [ElfSymbol(name, places[name], function.size) for name, function in functions.items()]
    told = facts(tmp_path, {"a.o": elf([ElfSection(".text", 0, text, "rx")], symbols, kind=1)})
    assert {"4.0.0", "7.0.0", "main"} <= {*map(str, told["cmsis_nn_releases"].value)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("core", "said"), [(M4, 1), ({5: "6S-M", 6: 12}, 0), ({6: 16}, 0), ({5: "8-M.MAIN", 6: 17}, 1)]
)
def test_calls_of_memcpy_are_meant_where_no_unaligned_word_is_read(
    core: Mapping[int, int | str], said: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = tmp_path / "app.elf"
    image.write_bytes(firmware(with_library(**COPYING), core=core))
    main([str(image), "--output-format", "json"])
    codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert codes.count("CNN705") == said
