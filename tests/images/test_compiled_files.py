"""Debugging information: how each file was compiled, and structures that differ from file to file."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.images.build import Build, LibraryBuild, build_from
from onnxlint_cmsis.images.facts import facts_of
from support.built_images import GCC, MISSING, objects
from support.dwarf_writer import ABBREVIATIONS, Source, debugging
from support.elf_writer import ElfSection, archive
from support.firmware_images import GCC_C, firmware, with_tensors

KERNEL = "arm_nn_mat_mult_nt_t_s8.c"
NEEDS_GCC = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def told(content: bytes) -> Build:
    """What an image tells."""
    build = build_from("app.elf", memoryview(content))
    assert isinstance(build, Build)
    return build


def compiled(*sources: Source) -> bytes:
    """An image of some sources."""
    return firmware(more=debugging(sources))


@pytest.mark.parametrize(
    ("options", "level"),
    [("", "-O0"), ("-O2", "-O2"), ("-O", "-O1"), ("-O2 -Os", "-Os"), ("-O2 -O0", "-O0"), ("-Ofast -fno-O3", "-Ofast")],
)
def test_the_last_level_of_a_command_counts(options: str, level: str) -> None:
    assert told(compiled(Source(KERNEL, f"{GCC_C} {options}"))).library_levels == {level: (KERNEL,)}


def test_files_of_the_library_have_their_levels() -> None:
    content = compiled(
        Source(f"C:\\nn\\Source\\{KERNEL}", f"{GCC_C} -O3"),
        Source("Source/arm_convolve_1x1_s8_fast.c", GCC_C),
        Source("Source/arm_softmax_s8.c", f"{GCC_C} -O1"),  # no function of it is in the image
        Source("main.c", f"{GCC_C} -Os"),
    )
    assert told(content).library_levels == {"-O3": (KERNEL,), "-O0": ("arm_convolve_1x1_s8_fast.c",)}


def test_clang_writes_no_level() -> None:
    assert not told(compiled(Source(KERNEL, "Debian clang version 19.1.7"))).library_levels


@pytest.mark.parametrize(
    ("commands", "level"),
    [
        (f"{GCC_C} -O2\0GNU C++17 12.2.1 -Os\0", ["-O2"]),
        (f"{GCC_C}\0GNU C++17 12.2.1 -Os\0", ["-O0"]),
        (f"{GCC_C} -O2\0{GCC_C} -O3\0", None),
        ("GNU C++17 12.2.1 -Os\0", None),
    ],
)
def test_recorded_switches_tell_the_level_of_all_c_files(commands: str, level: list[str] | None) -> None:
    build = told(firmware(more=[ElfSection(".GCC.command.line", 0, commands.encode(), "-")]))
    assert {fact.key: fact.value for fact in facts_of(build)}.get("cmsis_nn_level") == level


def test_no_level_is_a_finding_though_stack_does_not_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.elf"
    path.write_bytes(compiled(Source(KERNEL, GCC_C)))
    assert main([str(path), "--isolated", "--select", "CNN701", "--output-format", "concise"]) == 1
    assert f"gcc had no -O for {KERNEL}" in capsys.readouterr().out


def test_structures_that_differ_are_told_by_file() -> None:
    assert told(with_tensors(64)).tensor_sizes == {32: ("micro_interpreter.cc", "conv.cc"), 64: ("main.cc",)}
    assert not told(with_tensors(32)).tensor_sizes


@NEEDS_GCC
@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_what_gcc_writes_is_read(version: int, tmp_path: Path) -> None:
    """Nested, anonymous and other structures stand before the one that is asked for."""
    for name, size in (("arm_avgpool_s8", 28), ("arm_softmax_s8", 60)):
        (tmp_path / f"{name}.c").write_text(
            "struct Other { struct { int a; } b; struct Inner { char c[9]; } d; union { int e; float f; } g; };\n"
            f"struct TfLiteTensor {{ struct Other *other; char rest[{size}]; }};\n"
            "static inline int twice(int x) { int y = x * 2; return y; }\n"
            f"int {name}(struct TfLiteTensor *t) {{ return twice(t->rest[0]) + t->other->d.c[1]; }}\n"
        )
    command = [GCC, "-mcpu=cortex-m4", "-mthumb", "-O3", f"-gdwarf-{version}", "-r", "-nostdlib", "-o", "both.o"]
    subprocess.run([*command, "arm_avgpool_s8.c", "arm_softmax_s8.c"], check=True, cwd=tmp_path)
    build = told((tmp_path / "both.o").read_bytes())
    assert build.library_levels == {"-O3": ("arm_avgpool_s8.c", "arm_softmax_s8.c")}
    assert build.tensor_sizes == {32: ("arm_avgpool_s8.c",), 64: ("arm_softmax_s8.c",)}


@NEEDS_GCC
@pytest.mark.parametrize("switch", ["-g", "-frecord-gcc-switches"])
def test_a_library_tells_its_level(switch: str) -> None:
    names = objects(f"-mcpu=cortex-m4 -O2 {switch}")
    build = build_from("lib.a", memoryview(archive({Path(name).name: Path(name).read_bytes() for name in names})))
    assert isinstance(build, LibraryBuild)
    assert [*build.library_levels] == ["-O2"]
    assert len(build.library_levels["-O2"]) == (build.members if switch == "-g" else 0)


def test_damaged_information_ends_the_reading_in_time() -> None:
    sources = [Source(KERNEL, f"{GCC_C} -O{number % 4}", {"TfLiteTensor": 32 + number}) for number in range(50)]
    sound, abbreviations = debugging(sources)
    draws, start = random.Random(7), time.monotonic()
    for _ in range(300):
        content = bytearray(sound.data)
        for _ in range(4):
            content[draws.randrange(len(content))] = draws.randrange(256)
        build = told(firmware(more=[sound._replace(data=bytes(content)), abbreviations]))
        assert sum(map(len, build.library_levels.values())) <= 50
        assert len(build.tensor_sizes) <= 50
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("cut", range(len(ABBREVIATIONS)))
def test_abbreviations_that_end_early_tell_nothing(cut: int) -> None:
    units = debugging([Source(KERNEL, GCC_C)])[0]
    assert not told(firmware(more=[units, ElfSection(".debug_abbrev", 0, ABBREVIATIONS[:cut], "-")])).library_levels
