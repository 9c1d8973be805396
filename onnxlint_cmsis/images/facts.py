"""All that is known of a build as rows: what, how surely, and what in the file tells it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.ground.words import NAMED, and_more
from onnxlint_cmsis.images.build import Build, Compiler, LibraryBuild
from onnxlint_cmsis.images.library_use import LibraryUse
from onnxlint_cmsis.images.link_maps import LLD
from onnxlint_cmsis.images.memory_use import region_name
from onnxlint_cmsis.images.runtime_use import RuntimeUse
from onnxlint_cmsis.images.thumb import smlad_in
from onnxlint_cmsis.images.uncompiled import releases_of

SURE, MAY = "sure", "may"
MANY_SMLAD, FEW_SMLAD = 32, 4
"""SMLAD in all code from which on CMSIS-NN uses them, and up to which it does not: 284 and 0 were seen."""
Value = str | int | bool | list[str] | dict[str, object]


class Fact(NamedTuple):
    """One thing that a file tells."""

    key: str
    """Name for programs."""
    value: Value
    """The value for programs."""
    text: str
    """The value for people."""
    certainty: str
    """`sure` where it follows from the bytes, `may` where a name or a habit tells it."""
    evidence: str
    """What in the file tells it."""


def facts_of(build: Build | LibraryBuild) -> tuple[Fact, ...]:
    """All facts of an image or a library, in the order in which people ask for them."""
    if isinstance(build, LibraryBuild):
        return (
            *_target(build),
            *_compilers(build.compilers),
            *_library(build, 0),
            *_uncompiled(build),
            *_levels(build),
            *_kernels_of(build),
        )
    return (
        *_target(build),
        *_compilers(build.compilers),
        *_library(
            build,
            len(build.image.symbols),
            inlined=not build.reference and bool(build.runtime and build.runtime.whole_program),
        ),
        *_levels(build),
        *_runtime(build),
        *_models(build),
        *_memory(build),
    )


def _target(build: Build | LibraryBuild) -> Iterator[Fact]:
    attributes = build.attributes
    if not attributes.architecture and not attributes.cpu:
        return
    told = "cpu" if len(attributes.cores) == 1 else "architecture"
    value = attributes.cores[0] if told == "cpu" else attributes.architecture
    text = value if told == "cpu" else f"{value} ({' or '.join(attributes.cores)})"
    name = "--cpu" if attributes.source == ".comment" else "Tag_CPU_name"
    evidence = f"{attributes.source}: {name} {attributes.cpu or '-'}" if attributes.cpu else attributes.source
    if not attributes.sure:
        evidence += " of one of its files, as ld.lld keeps no more"
    yield Fact(told, value, text, SURE if attributes.sure else MAY, evidence)


def _compilers(compilers: tuple[Compiler, ...]) -> Iterator[Fact]:
    if compilers:
        texts = [compiler.text for compiler in compilers]
        yield Fact("compilers", texts, "; ".join(texts), SURE, ".comment, not for single files")


def _library(build: Build | LibraryBuild, symbols: int, *, inlined: bool = False) -> Iterator[Fact]:
    library = build.library
    if library is None:
        if isinstance(build, Build) and not symbols:
            yield from _unnamed_code(build)
        if symbols:
            evidence = f"{symbols:,} symbols, none of them CMSIS-NN's"
            yield Fact("cmsis_nn", [], "no function", MAY if inlined else SURE, evidence)
        return
    names = sorted(library.functions)
    count = f"{len(names)} function{'s' * (len(names) > 1)}"
    yield Fact("cmsis_nn", [*names], count, SURE, f"symbols such as {', '.join(names[:NAMED])}")
    if library.isa:
        seen = f"{library.counted_instructions} in those functions"
        yield Fact("cmsis_nn_isa", library.isa.value, library.isa.value.upper(), SURE, seen)
    yield _release(library)
    large = library.large_frames
    if large:
        name, taken, most = large[0]
        seen = f"{name} takes {taken:,} bytes of stack, optimized {most:,} at most"
        yield Fact("cmsis_nn_optimized", False, "CMSIS-NN is not optimized (-O0)", SURE, seen)
    elif library.telling_frames:
        frame = max(library.functions[name].frame for name in library.telling_frames)
        seen = f"{len(library.telling_frames)} functions take {frame:,} bytes of stack or less"
        yield Fact("cmsis_nn_optimized", True, "CMSIS-NN is optimized (-O1 or more)", SURE, seen)
    if library.copying:
        told = [f"{name} ({count} calls)" for name, count in library.copying]
        meant = "" if build.attributes.reads_unaligned else ", as this core reads no unaligned words"
        yield Fact(
            "cmsis_nn_memcpy", [name for name, _ in library.copying],
            f"inner loops call memcpy{meant}", SURE,
            f"calls of memcpy in {and_more(told)}",
        )  # fmt: skip


def _unnamed_code(build: Build) -> Iterator[Fact]:
    """Whether CMSIS-NN uses DSP in an ELF without symbols; its code for MVE has some SMLAD too."""
    if build.image.form != "elf" or build.runtime is None or build.runtime.kernels != "cmsis_nn":
        return
    code = [section for section in build.image.sections if section.executable]
    held = [model.data for model in build.models if any(section.holds(model.address) for section in code)]
    count = sum(smlad_in(section.data) for section in code) - sum(smlad_in(memoryview(data)) for data in held)
    seen = f"{count:,} SMLAD in all code"
    if build.extension is Isa.DSP and (count >= MANY_SMLAD or count <= FEW_SMLAD):
        isa = Isa.DSP if count >= MANY_SMLAD else Isa.SCALAR
        yield Fact("cmsis_nn_isa", isa.value, isa.value.upper(), MAY, seen)


def _release(library: LibraryUse) -> Fact:
    known = library.releases
    if not known:
        return Fact("cmsis_nn_releases", [], "none of those that are known", MAY, "functions and calls fit no release")
    text = known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return Fact("cmsis_nn_releases", [*known], text, MAY if library.inlined else SURE, "its functions and their calls")


def _uncompiled(build: LibraryBuild) -> Iterator[Fact]:
    """What the linker has yet to compile; the image has the rest."""
    if not build.uncompiled:
        return
    count, files = len(build.uncompiled), build.uncompiled_files
    text = f"{count:,} of {build.members:,} objects are compiled when they are linked (-flto)"
    yield Fact("uncompiled", count, text, SURE, "members without code")
    if files and build.library is None:
        seen = f"names of members such as {', '.join(files[:NAMED])}"
        yield Fact("cmsis_nn_files", [*files], f"{len(files)} files", MAY, seen)
        known = releases_of(files)
        if known:
            yield Fact("cmsis_nn_releases", [*known], " to ".join(dict.fromkeys((known[0], known[-1]))), MAY, seen)


def _levels(build: Build | LibraryBuild) -> Iterator[Fact]:
    levels = build.library_levels
    if not levels:
        return
    told = [f"{level} ({len(files)} files)" if files else level for level, files in levels.items()]
    files = [file for files in levels.values() for file in files]
    evidence = f"DW_AT_producer of {and_more(files)}" if files else ".GCC.command.line of all C files"
    yield Fact("cmsis_nn_level", sorted(levels), ", ".join(told), SURE, evidence)


def _kernels_of(build: LibraryBuild) -> Iterator[Fact]:
    if build.registrations:
        operators = [*build.registrations]
        yield Fact("operators_linked", operators, f"kernels of {len(operators)} operators", SURE, "tflite::Register_*")
        kernels = "reference" if build.reference else "cmsis_nn"
        text = "reference code, no CMSIS-NN" if build.reference else "with CMSIS-NN"
        # another library may have CMSIS-NN
        evidence = f"calls such as {build.asked}" if build.asked else f"{build.members} objects"
        yield Fact("kernels", kernels, text, MAY if build.reference else SURE, evidence)


def _runtime(build: Build) -> Iterator[Fact]:
    runtime = build.runtime
    if runtime is None:
        return
    yield Fact("runtime", runtime.name, runtime.name, SURE, runtime.evidence)
    if runtime.since:
        yield Fact("runtime_since", runtime.since, f"{runtime.since} or later", MAY, "names that it has since then")
    if build.reference:
        seen = f", and tflite::{runtime.reference_functions[0]}" if runtime.whole_program else ""
        yield Fact("kernels", "reference", "reference code, no CMSIS-NN", SURE, f"no symbol of CMSIS-NN{seen}")
    elif runtime.kernels:
        sure = build.library is not None
        text = "CMSIS-NN" if runtime.kernels == "cmsis_nn" else "reference code"
        yield Fact("kernels", runtime.kernels, text, SURE if sure else MAY, f"the text '{runtime.kernel_file}'")
    if build.tensor_sizes:
        told = [f"{size} bytes in {and_more(files)}" for size, files in build.tensor_sizes.items()]
        yield Fact("tensor_sizes", [*map(str, build.tensor_sizes)], and_more(told), SURE, "DWARF: TfLiteTensor")
    yield from _operators(runtime)


def _operators(runtime: RuntimeUse) -> Iterator[Fact]:
    if runtime.every:
        yield Fact("operators", "all", "all", SURE, "AllOpsResolver")
        return
    if runtime.registered is not None:
        names = [*runtime.registered]
        yield Fact("operators", names, ", ".join(names) or "none", SURE, "calls or addresses of tflite::Register_*")
    unused = sorted({*runtime.linked} - {*(runtime.registered or ())}) if runtime.registered is not None else []
    if unused:
        yield Fact("operators_linked", unused, ", ".join(unused), SURE, "in the image, and no code calls them")
    if runtime.resolvers:
        evidence = ", ".join(f"_ZTVN6tflite22MicroMutableOpResolverILj{room}EEE" for room in runtime.resolvers)
        text = f"room for {' and '.join(map(str, runtime.resolvers))} operator{'s' * (runtime.resolvers != (1,))}"
        yield Fact("resolver", runtime.resolvers[0], text, SURE, evidence)


def _models(build: Build) -> Iterator[Fact]:
    for model in build.models:
        section = build.image.section_at(model.address)
        where = region_name(section, model.address) if build.image.addressed else "?"
        value: dict[str, object] = {
            "name": model.label,
            "address": model.address,
            "size": len(model.data),
            "sha256": model.sha256,
            "symbol": model.symbol,
        }
        told = f"at byte {model.address:,}"
        if build.image.addressed:
            value |= {"memory": where, "aligned": model.aligned}
            told = f"at 0x{model.address:08x} in {where}, aligned to {model.aligned}"
        text = f"{model.label}, {len(model.data):,} bytes {told}"
        yield Fact("model", value, text, SURE, f"its mark and the structure behind it, in {model.section}")


def _memory(build: Build) -> Iterator[Fact]:
    memory = build.memory
    if memory is None:
        return
    for arena in memory.arenas:
        value: dict[str, object] = {
            "name": arena.name,
            "symbol": arena.symbol,
            "size": arena.size,
            "address": arena.address,
        }
        value["aligned"] = arena.aligned
        text = f"{arena.name}, {arena.size:,} bytes aligned to {arena.aligned}"
        yield Fact("arena", value, text, MAY, f"its name; its size is sure ({arena.section})")
    yield Fact("ram", memory.ram, f"{memory.ram:,} bytes", SURE, "writable sections")
    yield Fact("flash", memory.flash, f"{memory.flash:,} bytes", SURE, "sections with content")
    if memory.mapped_by == LLD:
        told = "without regions of memory: the settings `ram` and `flash` say what there is"
        yield Fact("map", memory.mapped_by, f"by {memory.mapped_by}, {told}", SURE, "the map file beside it")
    if memory.unlike:
        told = f"of another link, so that its regions are not used: {memory.unlike}"
        yield Fact("map", memory.mapped_by, told, SURE, "the map file beside it")
    for region in memory.regions:
        fields: dict[str, object] = {"name": region.name, "address": region.address, "size": region.size}
        fields["writable"] = region.writable
        text = f"{region.name} at 0x{region.address:08x}, {region.size:,} bytes"
        yield Fact("region", fields, text, SURE, f"the map file of {memory.mapped_by} beside it")
