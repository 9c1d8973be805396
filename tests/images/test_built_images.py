"""Images that gcc builds here of CMSIS-NN 4.0.0: what they tell is how they were built."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.build import Build, read_build
from support.firmware_images import MODEL

GCC = "arm-none-eabi-gcc"
MISSING = [name for name in (GCC, "arm-none-eabi-objcopy") if shutil.which(name) is None]
MISSING += [name for name in ("bakenn",) if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

M4, M33, M55 = (
    "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    "-mcpu=cortex-m33 -mfloat-abi=hard",
    "-mcpu=cortex-m55 -mfloat-abi=hard",
)
M3 = "-mcpu=cortex-m3"
MAIN = """
#include "arm_nnfunctions.h"
%(qualifiers)s unsigned char g_model[] = {%(model)s};
__attribute__((aligned(16))) static unsigned char tensor_arena[4096];
int main(void) {
    cmsis_nn_context c = {tensor_arena, 4096};
    cmsis_nn_conv_params p = {0};
    cmsis_nn_dw_conv_params d = {0};
    cmsis_nn_fc_params f = {0};
    cmsis_nn_per_channel_quant_params q = {0};
    cmsis_nn_per_tensor_quant_params t = {0};
    cmsis_nn_dims s = {1, g_model[0], g_model[1], g_model[2]};
    int8_t *x = (int8_t *)g_model, *y = (int8_t *)tensor_arena;
    return arm_convolve_wrapper_s8(&c, &p, &q, &s, x, &s, x, &s, 0, &s, y)
        + arm_depthwise_conv_wrapper_s8(&c, &d, &q, &s, x, &s, x, &s, 0, &s, y)
        + arm_fully_connected_s8(&c, &f, &t, &s, x, &s, x, &s, 0, &s, y);
}
"""


def library() -> Path:
    """The sources of CMSIS-NN, with CMSIS-Core beside them."""
    spec = find_spec("bakenn")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "backend" / "cmsis_nn" / "vendor" / "cmsis_nn"


def includes() -> list[str]:
    """Where headers are."""
    return [f"-I{library() / 'Include'}", f"-I{library().parent / 'cmsis_core' / 'Include'}"]


@cache
def objects(folder: Path, flags: str) -> tuple[str, ...]:
    """Objects of the library, compiled once for each set of flags."""
    home = folder / "".join(letter if letter.isalnum() else "_" for letter in flags)
    home.mkdir()
    sources = sorted(str(path) for path in (library() / "Source").rglob("arm_*.c"))
    compile_ = [GCC, "-mthumb", *flags.split(), "-ffunction-sections", *includes(), "-w", "-c"]
    subprocess.run([*compile_, *sources], cwd=home, check=True)
    return tuple(sorted(str(path) for path in home.glob("*.o")))


def built(
    folder: Path, flags: str, application: str = "", qualifiers: str = "__attribute__((aligned(16))) const"
) -> Path:
    """An image with a library of some flags; the application has its own where they are given."""
    source, image = folder / "main.c", folder / "app.elf"
    source.write_text(MAIN % {"qualifiers": qualifiers, "model": ",".join(map(str, MODEL))})
    own = [GCC, "-mthumb", *(application or flags).split(), *includes(), "-w"]
    link = ["--specs=nosys.specs", "-Wl,--gc-sections", "-Wl,-Map=" + str(folder / "app.map")]
    subprocess.run(
        [*own, str(source), *objects(folder, flags), *link, "-o", str(image)], check=True, capture_output=True
    )
    return image


def told(image: Path) -> Build:
    """What the image tells."""
    build = read_build(str(image))
    assert isinstance(build, Build)
    return build


@pytest.mark.parametrize(
    ("flags", "cpu"),
    [
        (f"{M4} -O0", "cortex-m4"),
        (f"{M4} -Os", "cortex-m4"),
        (f"{M4} -O3", "cortex-m4"),
        (f"{M3} -O2", "cortex-m3"),
        (f"{M33} -O2", "cortex-m33"),
        (f"{M55} -O2", "cortex-m55"),
    ],
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
