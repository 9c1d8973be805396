"""The build system that made an image, by what it leaves there, and how its settings are written."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image


class BuildSystem(NamedTuple):
    """One build system, with the words for what to change in it."""

    name: str
    """Its name."""
    signs: tuple[str, ...]
    """Names of functions that an image has which it made."""
    optimize: str
    """How CMSIS-NN's C files are optimized, as a clause."""
    kernels: str
    """How the kernels of CMSIS-NN are linked, as a clause."""


MAKE = "in TensorFlow Lite Micro's make OPTIMIZED_KERNEL_DIR=cmsis_nn"
SYSTEMS = (
    BuildSystem(
        "Zephyr",
        ("z_cstart", "k_sched_lock", "z_thread_abort"),
        "CONFIG_SPEED_OPTIMIZATIONS=y",
        "CONFIG_TENSORFLOW_LITE_MICRO_CMSIS_NN_KERNELS=y",
    ),
    BuildSystem(
        "Arduino",
        ("analogWrite", "digitalWrite"),
        "compiler.optimization_flags=-O2 in the board's platform.local.txt, in PlatformIO build_unflags = -Os and "
        "build_flags = -O2",
        "take a library with kernels/cmsis_nn in it, such as Arduino_TensorFlowLite of Arm boards",
    ),
    BuildSystem(
        "STM32CubeIDE",
        ("HAL_Init", "HAL_GetTick"),
        "in STM32CubeIDE Properties, C/C++ Build, Settings, MCU GCC Compiler, Optimization: -O2; that of C and that of "
        "C++ are two settings",
        "add kernels/cmsis_nn of TensorFlow Lite Micro in place of the files of the same names in kernels/",
    ),
)
"""Those that leave functions of their own in an image."""
OTHER = BuildSystem(
    "",
    (),
    "compile its C files with -O2 or -O3; in CMake CMAKE_BUILD_TYPE=Release, or "
    "target_compile_options(cmsis-nn PRIVATE -O3)",
    f"{MAKE}; elsewhere kernels/cmsis_nn/*.cc in place of the files of the same names in kernels/",
)


def build_system(image: Image) -> BuildSystem:
    """The build system that left its functions in an image; OTHER where none did."""
    return next((row for row in SYSTEMS if any(sign in image.functions for sign in row.signs)), OTHER)
