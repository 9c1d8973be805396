"""Record which functions each release of CMSIS-NN has, what each calls in other files, and how much stack they take.

    python lab/image_functions.py OUT.json NAME=DIR ... [--frames NAME ...]

DIR has `Include` and `Source`; folders behind further `:` are searched for headers. gcc makes an object of every file
at -O0 for three instruction sets, those for floats left out, and the package's own reader of images reads it: calls
that leave a file are those that the linker has to fill in. For the releases of `--frames` optimized objects give the
most stack that a function takes when it is optimized, and -O0 the least that it takes when it is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from onnxlint_cmsis.images.elf import read_elf
from onnxlint_cmsis.images.image import Image, Symbol
from onnxlint_cmsis.images.thumb import code_of

FLAGS = {
    "scalar": "-mcpu=cortex-m3 -mthumb",
    "dsp": "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    "mve": "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard",
}
GCC = "arm-none-eabi-gcc"
CLANG = "clang-19 --target=arm-none-eabi -isystem /usr/lib/arm-none-eabi/include"
OPTIMIZED = ((GCC, "-O1"), (GCC, "-Os"), (GCC, "-O2"), (GCC, "-O3"), (CLANG, "-O2"), (CLANG, "-Oz"))


def objects(folders: list[str], compiler: str, flags: str) -> list[tuple[str, Image, bool]]:
    """Compile every file below Source; its name, the object, and whether the flags did. -O1 takes what -O0 does not."""
    objects_read = []
    includes = [f"-I{folder}" for folder in (f"{folders[0]}/Include", *folders[1:])]
    with tempfile.TemporaryDirectory() as scratch:
        every = sorted(Path(folders[0], "Source").rglob("*.c"))
        for source in [file for file in every if not file.stem.endswith(("_f16", "_f32"))]:
            out = Path(scratch, "x.o")
            for level in ("", "-O1 -fno-inline"):  # inline assembly needs more registers than -O0 has
                command = [*compiler.split(), *flags.split(), *level.split(), "-ffunction-sections", *includes, "-w"]
                done = subprocess.run([*command, "-c", str(source), "-o", str(out)], capture_output=True, check=False)
                if done.returncode == 0:
                    objects_read.append((source.name, read_elf(memoryview(out.read_bytes())), not level))
                    break
            else:
                print(f"{source} {flags}: {done.stderr.decode()[:500]}", file=sys.stderr)
    return objects_read


def outside_calls(image: Image, symbol: Symbol) -> list[str]:
    """Functions of the library in other files that a function calls."""
    calls = code_of(image, symbol).calls
    return sorted(name for name in calls if name.startswith("arm_") and name not in image.functions)


def main() -> None:
    """Write the record, again after each instruction set."""
    out, *rest = sys.argv[1:]
    named = [word for word in rest if "=" in word]
    sources = {name: folders.split(":") for name, _, folders in (word.partition("=") for word in named)}
    framed = [word for word in rest if word in sources]
    rows: dict[tuple[str, str, tuple[str, ...]], int] = defaultdict(int)
    least: dict[str, int] = {}
    most: dict[str, int] = defaultdict(int)
    for number, (name, folders) in enumerate(sources.items()):
        for order, (isa, flags) in enumerate(FLAGS.items()):
            print(name, isa, file=sys.stderr, flush=True)
            for file, image, plain in objects(folders, GCC, f"{flags} -O0"):
                for function, symbol in image.functions.items():
                    code = code_of(image, symbol)
                    where = "" if symbol.local else file
                    rows[function, where, tuple(outside_calls(image, symbol))] |= 1 << (3 * number + order)
                    if plain:
                        least[function] = min(least.get(function, code.frame), code.frame)
            for compiler, level in OPTIMIZED if name in framed else ():
                for _, image, _ in objects(folders, compiler, f"{flags} {level}"):
                    for function, symbol in image.functions.items():
                        most[function] = max(most[function], code_of(image, symbol).frame)
            functions: dict[str, list[object]] = defaultdict(list)
            print(f"{len(rows)} rows", file=sys.stderr)
            for (function, where, calls), mask in sorted(rows.items()):
                functions[function].append([mask, where, calls])
            frames = {
                function: [most[function], frame] for function, frame in sorted(least.items()) if function in most
            }
            record = {"sources": list(sources), "functions": functions, "frames": frames}
            Path(out).write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
