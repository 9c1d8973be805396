"""Firmware images for tests: a Cortex-M4 with TensorFlow Lite Micro, CMSIS-NN, a model and an arena."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from support.dwarf_writer import Source, debugging
from support.elf_writer import ElfSection, ElfSymbol, Function, attributes, elf, placed
from support.tflite_models import conv_model
from support.tflite_writer import write

FLASH, RAM = 0x0800_0000, 0x2000_0000
MODEL = write(conv_model())
M4: Mapping[int, int | str] = {5: "7E-M", 6: 13, 10: 6}
M55: Mapping[int, int | str] = {5: "cortex-m55", 6: 21, 46: 1, 48: 2}
GCC_C, GCC_CXX = "GNU C17 12.2.1 20221205 -mcpu=cortex-m4 -g", "GNU C++17 12.2.1 20221205 -mcpu=cortex-m4 -g"
REGISTER_CONV = "_ZN6tflite16Register_CONV_2DEv"
REGISTER_SOFTMAX = "_ZN6tflite16Register_SOFTMAXEv"
APPLICATION = {
    REGISTER_CONV: Function(16),
    REGISTER_SOFTMAX: Function(16),
    "main": Function(64, calls={REGISTER_CONV: 1}),
}
LIBRARY = {
    "arm_nn_mat_mult_nt_t_s8": Function(200, frame=148, smlad=16, dsp=32),
    "arm_convolve_1x1_s8_fast": Function(64, calls={"arm_nn_mat_mult_nt_t_s8": 1}),
}


def firmware(
    functions: Mapping[str, Function] | None = None,
    *,
    model: bytes = MODEL,
    model_at: int = FLASH + 0x8000,
    ram: bool = False,
    arena: int = 2048,
    room: int = 2,
    core: Mapping[int, int | str] = M4,
    local: bool = False,
    comment: str = "GCC: (15:12.2.rel1-1) 12.2.1 20221205",
    more: Iterable[ElfSection] = (),
    also: Iterable[ElfSymbol] = (),
) -> bytes:
    """An image with a model, an arena and a resolver; `local` as after -flto, `more` sections and `also` symbols."""
    code = {**APPLICATION, **LIBRARY} if functions is None else functions
    text, places = placed(code, FLASH)
    start = RAM + 0x1000 if ram else FLASH + 0x8000
    sections = [
        ElfSection(".text", FLASH, text, "rx"),
        ElfSection(".data" if ram else ".rodata", start, bytes(model_at - start) + model, "rw" if ram else "r"),
        ElfSection(".bss", RAM, b"", "rw", 4096, 8),
        ElfSection(".ARM.attributes", 0, attributes(core), "-"),
        ElfSection(".comment", 0, f"{comment}\0".encode(), "-"),
        *more,
    ]
    symbols = [ElfSymbol(name, places[name], function.size, local=local) for name, function in code.items()]
    symbols += [
        ElfSymbol("g_model", model_at, len(model), "object"),
        ElfSymbol("_ZN12_GLOBAL__N_112tensor_arenaE", RAM + 16, arena, "object", local=True),
        ElfSymbol(f"_ZTVN6tflite22MicroMutableOpResolverILj{room}EEE", FLASH + 4, 16, "object"),
        *also,
    ]
    return elf(sections, symbols)


def with_tensors(application: int) -> bytes:
    """An image whose debugging information has TfLiteTensor of 32 bytes, and of so many in its main.cc."""
    sizes = {"micro_interpreter.cc": 32, "conv.cc": 32, "main.cc": application}
    sources = [Source(f"src/{file}", GCC_CXX, {"TfLiteTensor": size}) for file, size in sizes.items()]
    return firmware(more=debugging(sources))


def with_library(**changes: Function) -> dict[str, Function]:
    """The functions of the image, some changed."""
    return {**APPLICATION, **LIBRARY, **changes}


def registering(*makers: str) -> dict[str, Function]:
    """The functions of an image whose main registers operators."""
    return with_library(main=Function(64, calls=dict.fromkeys(makers, 1)))
