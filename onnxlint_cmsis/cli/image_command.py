"""`onnxlint-cmsis image FILE`: what a firmware image or a library tells of its build."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.output_options import add_form
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import json_text, printable
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.images.build import Build, LibraryBuild
    from onnxlint_cmsis.images.facts import Fact

DESCRIPTION = (
    "Tell what a firmware image says of its build: core and instruction set, compiler, the CMSIS-NN in it and whether "
    "it was optimized, runtime, operators, models, arena, RAM and flash. Takes an ELF (.elf, .axf, .out), a library "
    "(.a), Intel HEX, UF2 and plain bytes (.bin); an ELF with symbols tells most. `sure` follows from the bytes, `may` "
    "is what a name or a habit tells."
)
VERSION = 1
TITLES = {
    "cpu": "Core", "architecture": "Core", "compilers": "Compiler", "cmsis_nn": "CMSIS-NN",
    "cmsis_nn_isa": "Instructions", "cmsis_nn_releases": "Release", "cmsis_nn_optimized": "Optimization",
    "cmsis_nn_memcpy": "Copies", "cmsis_nn_level": "Level", "runtime": "Runtime", "runtime_since": "Its day",
    "kernels": "Kernels", "tensor_sizes": "Structures", "operators": "Operators", "operators_linked": "Linked too",
    "resolver": "Resolver", "model": "Model", "arena": "Arena", "ram": "RAM", "flash": "Flash", "region": "Region",
    "map": "Map", "uncompiled": "Not compiled", "cmsis_nn_files": "CMSIS-NN",
}  # fmt: skip
"""What people read for each key."""
WIDTH = 13
"""Columns of the titles."""


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("image", DESCRIPTION)
    add = parser.judged.add_argument
    add("files", nargs="+", metavar="FILE", help="Firmware image or library.")
    text = "Write the models that are inside into this folder."
    parser.output.add_argument("--extract", metavar="DIR", default="", help=text)
    add_form(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print the facts of each file."""
    from onnxlint_cmsis.images.build import Build, read_build
    from onnxlint_cmsis.images.facts import facts_of
    from onnxlint_cmsis.images.image import ImageError

    args = make_parser().parse_args(argv)
    shown, texts = [], []
    for file in args.files:
        try:
            build = read_build(file)
            facts = facts_of(build)
        except ImageError as error:
            raise UsageError(f"{file}: {error}") from None
        written = _extract(build, args.extract) if args.extract and isinstance(build, Build) else []
        shown.append(_fields(file, build, facts, written))
        texts.append(_text(file, build, facts, written))
    if args.form == "json":
        sys.stdout.write(json_text(shown if len(shown) > 1 else shown[0]))
    else:
        sys.stdout.write("\n".join(texts))
    return 0


def _form(build: Build | LibraryBuild) -> str:
    return getattr(getattr(build, "image", None), "form", "archive")


def _fields(path: str, build: Build | LibraryBuild, facts: tuple[Fact, ...], written: list[str]) -> dict[str, object]:
    rows = [
        {"key": fact.key, "value": fact.value, "certainty": fact.certainty, "evidence": fact.evidence} for fact in facts
    ]
    return {"version": VERSION, "path": path, "form": _form(build), "facts": rows, "extracted": written}


def _text(path: str, build: Build | LibraryBuild, facts: tuple[Fact, ...], written: list[str]) -> str:
    width = columns()
    lines = [printable(f"{path}: {_kind(build)}"), ""]
    for fact in facts:
        told = f"{fact.text} [{fact.certainty}: {fact.evidence}]"
        title = f"{TITLES[fact.key]:<{WIDTH}}"
        lines += wrapped(printable(f"{title}{told}"), width).splitlines()
    if not facts:
        lines.append("Nothing in it tells of CMSIS-NN, of a runtime or of a model.")
    lines += ["", *(printable(f"wrote {name}") for name in written)] if written else []
    return "".join(f"{line}\n" for line in lines)


def _kind(build: Build | LibraryBuild) -> str:
    from onnxlint_cmsis.images.build import Build

    if not isinstance(build, Build):
        return f"a library of {build.members:,} objects"
    names = {"elf": "an ELF", "hex": "Intel HEX", "uf2": "UF2", "bin": "plain bytes"}
    symbols = f", {len(build.image.symbols):,} symbols" if build.image.form == "elf" else ""
    return f"{names[build.image.form]}{symbols or ''}" if symbols != ", 0 symbols" else "an ELF without symbols"


LETTERS = frozenset(ascii_letters + digits + "_-.")
"""What stays of a symbol in the name of a file; all else becomes `_`."""
LONGEST_NAME = 100
"""Characters of a file that a model is written to."""


def _extract(build: Build, folder: str) -> list[str]:
    """Write the models of an image; the names of the files."""
    from onnxlint_cmsis.ground.atomic_write import write_bytes

    Path(folder).mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for model in build.models:
        plain = "".join(letter if letter in LETTERS else "_" for letter in model.name)
        stem, number = plain.lstrip(".")[:LONGEST_NAME] or "model", 1
        name = os.path.join(folder, f"{stem}{model.suffix}")  # noqa: PTH118 - shown as the user wrote the folder
        while name in written:
            number += 1
            name = os.path.join(folder, f"{stem}-{number}{model.suffix}")  # noqa: PTH118
        write_bytes(Path(name), model.data)
        written.append(name)
    return written
