"""Images that gcc builds here of CMSIS-NN 4.0.0: what they tell is how they were built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.build import Build, LibraryBuild, build_from, read_build
from onnxlint_cmsis.images.facts import MAY, facts_of
from support.built_images import GCC, M3, M4, M33, M55, MISSING, built
from support.elf_writer import archive
from support.firmware_images import MODEL
from support.nightly import one_of

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def told(image: Path) -> Build:
    """What the image tells."""
    build = read_build(str(image))
    assert isinstance(build, Build)
    return build


@pytest.mark.parametrize(
    ("flags", "cpu"),
    one_of(
        2,
        [
            (f"{M4} -O0", "cortex-m4"),
            (f"{M4} -Os", "cortex-m4"),
            (f"{M55} -O2", "cortex-m55"),
            (f"{M33} -O2", "cortex-m33"),
            (f"{M3} -O2", "cortex-m3"),
            (f"{M4} -O3", "cortex-m4"),
        ],
    ),
)
def test_core_level_and_release_are_told(flags: str, cpu: str, tmp_path: Path) -> None:
    build = told(built(tmp_path, flags))
    assert build.cpu == cpu
    assert build.library
    assert bool(build.library.large_frames) is flags.endswith("-O0")
    assert not build.library.copying
    assert "4.0.0" in build.library.releases
    assert [model.data for model in build.models] == [MODEL]
    assert build.models[0].name == "g_model"
    assert not build.models[0].writable
    assert build.memory
    assert [arena.size for arena in build.memory.arenas] == [4096]
    assert build.compilers[0].setting.startswith("gcc@")


def test_memcpy_for_every_four_bytes_is_told(tmp_path: Path) -> None:
    build = told(built(tmp_path, f"{M4} -O2 -fno-builtin"))
    assert build.library
    assert "arm_nn_mat_mult_nt_t_s8" in dict(build.library.copying)
    assert not build.library.large_frames


def test_a_library_without_mve_in_an_image_with_it_is_told(tmp_path: Path) -> None:
    build = told(built(tmp_path, "-mcpu=cortex-m55+nomve -mfloat-abi=hard -O2", f"{M55} -O2"))
    assert build.extension is Isa.MVE
    assert build.cpu == "cortex-m55+nomve"


def test_a_model_that_is_not_const_lies_in_ram(tmp_path: Path) -> None:
    (model,) = told(built(tmp_path, f"{M4} -O2", qualifiers="__attribute__((aligned(16)))")).models
    assert model.writable
    assert model.data == MODEL


def test_what_is_left_without_symbols(tmp_path: Path) -> None:
    image = built(tmp_path, f"{M4} -O2")
    for name, words in (("bin", ["-O", "binary"]), ("hex", ["-O", "ihex"]), ("stripped", ["-S"])):
        other = tmp_path / f"app.{name}"
        subprocess.run(["arm-none-eabi-objcopy", *words, str(image), str(other)], check=True)
        build = told(other)
        assert [model.data for model in build.models] == [MODEL]
        assert (build.library is None) is (name != "stripped" or not build.image.symbols)


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_a_library_without_dsp_for_a_core_that_has_it_is_told(level: str, tmp_path: Path) -> None:
    """gcc makes SMLABB and SMLALBB of plain C for a Cortex-M4: they are no sign of CMSIS-NN's own."""
    build = told(built(tmp_path, f"{M4} {level} -U__ARM_FEATURE_DSP", f"{M4} {level}"))
    assert build.library
    assert (build.library.isa, build.extension) == (Isa.SCALAR, Isa.DSP)
    assert "4.0.0" in build.library.releases
    assert build.cpu == "cortex-m4+nodsp"


@pytest.mark.parametrize(("core", "cpu"), [(M4, "cortex-m4"), (M55, "cortex-m55")])
def test_what_link_time_optimization_leaves_is_told(core: str, cpu: str, tmp_path: Path) -> None:
    """Few functions keep a symbol; what is told is true, and nothing is called wrong."""
    image = built(tmp_path, f"{core} -O2 -flto -fno-inline-functions-called-once")
    build = told(image)
    assert build.cpu == cpu
    assert build.library
    assert build.library.inlined
    assert "4.0.0" in build.library.releases
    assert {fact.certainty for fact in facts_of(build) if fact.key == "cmsis_nn_releases"} == {MAY}
    assert [model.data for model in build.models] == [MODEL]
    assert main(["--isolated", "--select", "CNN7", "--release", "4.0.0", str(image)]) == 0


@pytest.mark.parametrize("called", ["arm_convolve_wrapper_s8", "plain_convolution"])
def test_kernels_of_a_library_may_call_cmsis_nn_that_another_one_has(called: str, tmp_path: Path) -> None:
    source = f"extern int {called}(int); int _ZN6tflite16Register_CONV_2DEv(int x) {{ return {called}(x) + 1; }}"
    (tmp_path / "conv.c").write_text(source)
    subprocess.run([GCC, "-mcpu=cortex-m4", "-mthumb", "-O2", "-c", "conv.c"], cwd=tmp_path, check=True)
    build = build_from("lib.a", memoryview(archive({"conv.o": (tmp_path / "conv.o").read_bytes()})))
    assert isinstance(build, LibraryBuild)
    assert build.registrations == ("CONV_2D",)
    assert build.library is None
    assert build.reference is (called == "plain_convolution")
