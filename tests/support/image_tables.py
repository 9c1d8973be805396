"""Tables of firmware images (symbols, sections, functions) as ELF files that have the same of everything."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from support.elf_writer import ElfSection, ElfSymbol, Function, attributes, branch, code, elf
from support.tflite_models import conv_model
from support.tflite_writer import write

TAGS = {
    "TAG_CPU_NAME": 5, "TAG_CPU_ARCH": 6, "TAG_CPU_ARCH_PROFILE": 7, "TAG_THUMB_ISA_USE": 9, "TAG_FP_ARCH": 10,
    "TAG_ABI_VFP_ARGS": 28, "TAG_ABI_OPTIMIZATION_GOALS": 30, "TAG_DSP_EXTENSION": 46, "TAG_MVE_ARCH": 48,
}  # fmt: skip


def tables(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of tables."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def told(row: dict[str, Any], key: str) -> list[Any]:
    """Values that the table tells of one key."""
    return [fact["value"] for fact in row["facts"] if fact["key"] == key]


def image_of(row: dict[str, Any]) -> bytes:
    """An ELF with the sections, symbols, code and marks of a row."""
    contents = {name: (address, bytearray(size)) for name, address, size, _, empty in row["sections"] if not empty}
    places = {name: address & ~1 for name, address, _, kind, *_ in row["symbols"] if kind == "func"}
    sizes = {name: size for name, _, size, kind, *_ in row["symbols"] if kind == "func"}
    for name, shown in row["functions"].items():
        fields = {key: shown[key] for key in ("size", "frame", "smlad", "dsp", "mve", "calls")}
        _put(contents, places[name], code(Function(**fields), places[name], places)[: sizes[name]])
    registered = set((told(row, "registered_called") or [[]])[0])
    makers = [name for name in places if "Register_" in name and any(operator in name for operator in registered)]
    caller = next(
        (name for name in places if not name.startswith(("arm_", "_ZN6tflite")) and sizes[name] >= 4 * len(makers) + 4),
        "",
    )
    for index, name in enumerate(makers):
        here = places[caller] + 4 * index
        halves = branch(places[name] - here - 4)
        _put(contents, here, b"".join(half.to_bytes(2, "little") for half in halves))
    texts = b"".join(f"{file}\0".encode() for file in (told(row, "kernel_files") or [[]])[0])
    if texts:
        contents[".rodata"][1][: len(texts)] = texts
    for model in told(row, "model"):
        _put(contents, model["address"], write(conv_model()))
    sections = [
        ElfSection(name, address, b"" if empty else bytes(contents[name][1]), flags, size, 8 if empty else _kind(name))
        for name, address, size, flags, empty in row["sections"]
    ]
    known = {TAGS[tag]: value for tag, value in row["attributes"][0].items() if tag in TAGS}
    sections += [
        ElfSection(".ARM.attributes", 0, attributes(known), "-"),
        ElfSection(".comment", 0, b"".join(f"{text}\0".encode() for text in row["comments"]), "-"),
    ]
    symbols = [
        ElfSymbol(name, address & ~1 if kind == "func" else address, size, kind, bind == "STB_LOCAL")
        for name, address, size, kind, _, bind in row["symbols"]
    ]
    return elf(sections, symbols)


def _kind(section: str) -> int:
    return {".init_array": 14, ".fini_array": 15, ".preinit_array": 16}.get(section, 1)


def _put(contents: dict[str, tuple[int, bytearray]], address: int, data: bytes) -> None:
    for start, content in contents.values():
        if start <= address < start + len(content):
            content[address - start : address - start + len(data)] = data
            return
    raise AssertionError(f"no section has {address:#x}")
