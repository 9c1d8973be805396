"""Images that gcc builds of CMSIS-NN 4.0.0, the release in the package bakenn, with a model and an arena."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from support.firmware_images import MODEL

GCC = "arm-none-eabi-gcc"
MISSING = [name for name in (GCC, "arm-none-eabi-objcopy") if shutil.which(name) is None]
MISSING += [name for name in ("bakenn",) if find_spec(name) is None]

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
def _kept() -> tempfile.TemporaryDirectory[str]:
    """A folder for as long as the process runs."""
    return tempfile.TemporaryDirectory()


@cache
def objects(flags: str) -> tuple[str, ...]:
    """Objects of the library, compiled once for each set of flags."""
    home = Path(_kept().name) / "".join(letter if letter.isalnum() else "_" for letter in flags)
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
    subprocess.run([*own, str(source), *objects(flags), *link, "-o", str(image)], check=True, capture_output=True)
    return image
