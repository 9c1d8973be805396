"""A build as its image tells it: all facts of one file together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from onnxlint_cmsis.cmsis_nn.targets import CPUS
from onnxlint_cmsis.ground.files import NotReadError, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images import archive
from onnxlint_cmsis.images.attributes import (
    ARMV7E_M,
    CPU_ARCH,
    DSP_EXTENSION,
    MVE_ARCH,
    Attributes,
    linked_for,
    read_attributes,
)
from onnxlint_cmsis.images.compiled_files import library_levels, structure_differs
from onnxlint_cmsis.images.elf import MAGIC, read_elf
from onnxlint_cmsis.images.image import LARGEST, Image, ImageError
from onnxlint_cmsis.images.library_use import LibraryUse, functions_of, is_function, library_use, use_of
from onnxlint_cmsis.images.link_maps import NO_MAP, LinkMap, map_beside
from onnxlint_cmsis.images.memory_use import MemoryUse, memory_use
from onnxlint_cmsis.images.models_inside import InsideModel, models_inside
from onnxlint_cmsis.images.raw import read_raw
from onnxlint_cmsis.images.runtime_use import (
    LIBRARY_FUNCTIONS,
    REFERENCE_FUNCTIONS,
    RuntimeUse,
    registered_operator,
    runtime_use,
)
from onnxlint_cmsis.images.thumb import Code
from onnxlint_cmsis.images.uncompiled import is_bitcode, is_uncompiled, library_files

LLD = "Linker: "
"""Beginning of what ld.lld writes into `.comment`."""
_GCC = re.compile(r"GCC: .*?\b(\d+\.\d+)\.\d+\b")
_CLANG = re.compile(r"clang version (\d+\.\d+)")
_ARMCLANG = re.compile(r"Arm Compiler.*? ([6-9]\.\d+)|armclang", re.IGNORECASE)


class Compiler(NamedTuple):
    """A compiler whose code is in an image."""

    text: str
    """What it wrote."""
    setting: str
    """As the setting `compiler` has it: `gcc@12.2`; empty where it is none of those."""


class Build:
    """What one image tells. Everything is worked out when first asked for, and kept."""

    def __init__(self, path: str, image: Image, written: LinkMap = NO_MAP) -> None:
        self.path = path
        self.image = image
        """Its bytes and symbols."""
        self._map = written

    @cached_property
    def attributes(self) -> Attributes:
        """What `.ARM.attributes` says, else armlink; of one file at least what CMSIS-NN's code needs."""
        text = "\n".join(compiler.text for compiler in self.compilers)
        written = read_attributes(self.image.named(".ARM.attributes"), first_file=LLD in text)
        told = written if written.values else linked_for(text)
        return told.at_least(self.library.isa) if told.first_file and self.library else told

    @cached_property
    def compilers(self) -> tuple[Compiler, ...]:
        """What `.comment` says, each once."""
        texts = bytes(self.image.named(".comment")[:65_536]).decode("utf-8", "replace").split("\0")
        return tuple(Compiler(text, _setting(text)) for text in dict.fromkeys(filter(None, map(str.strip, texts))))

    @cached_property
    def library(self) -> LibraryUse | None:
        """CMSIS-NN in it; None where no symbol is a function of it."""
        return library_use(self.image)

    @cached_property
    def library_levels(self) -> Mapping[str, tuple[str, ...]]:
        """Files of CMSIS-NN by their -O, where gcc wrote it; without names where all C files have one level."""
        return library_levels(self.image, self.library.functions) if self.library else {}

    @cached_property
    def tensor_sizes(self) -> Mapping[int, tuple[str, ...]]:
        """Source files by the bytes that TfLiteTensor has in them, where these differ."""
        return structure_differs(self.image)

    @cached_property
    def runtime(self) -> RuntimeUse | None:
        """The runtime in it."""
        return runtime_use(self.image, ((model.address, len(model.data)) for model in self.models))

    @cached_property
    def models(self) -> tuple[InsideModel, ...]:
        """The models in it."""
        return models_inside(self.image)

    @cached_property
    def memory(self) -> MemoryUse | None:
        """RAM and flash that it takes."""
        return memory_use(self.image, self._map)

    @property
    def reference(self) -> bool:
        """Tell whether kernels of TensorFlow Lite Micro are reference code, none of CMSIS-NN, for sure."""
        runtime = self.runtime
        if runtime is None or runtime.name != "tflm" or not runtime.by_symbols or runtime.kernels == "cmsis_nn":
            return False
        return self.library is None and bool(runtime.reference_functions if runtime.whole_program else runtime.linked)

    @property
    def tells_kernels(self) -> bool:
        """Tell whether a symbol shows whose kernels compute, or a text shows that CMSIS-NN does."""
        return self.library is not None or self.reference or bool(self.runtime and self.runtime.kernels == "cmsis_nn")

    @property
    def reference_operators(self) -> tuple[str, ...]:
        """Operators whose kernels would call CMSIS-NN and do not, for sure."""
        runtime = self.runtime
        if runtime is None or (self.library is None and not self.reference):
            return ()
        functions = self.library.functions if self.library else ()
        operators: tuple[str, ...]
        if runtime.whole_program:
            operators = tuple(sorted(REFERENCE_FUNCTIONS[name] for name in runtime.reference_functions))
        elif self.library:
            operators = () if self.library.inlined else runtime.registered or ()
        else:
            operators = runtime.linked
        return tuple(
            operator
            for operator in operators
            if operator in LIBRARY_FUNCTIONS
            and not any(name.startswith(LIBRARY_FUNCTIONS[operator]) for name in functions)
        )

    @property
    def cpu(self) -> str:
        """The core that code is judged for, with +nodsp or +nomve where CMSIS-NN is built so; empty where unknown."""
        return _cpu(self.attributes, self.library)

    @property
    def extension(self) -> Isa | None:
        """The extension that the image is built for, by its attributes; None where they do not tell."""
        return _extension(self.attributes)


def _extension(attributes: Attributes) -> Isa | None:
    if attributes.number(MVE_ARCH):
        return Isa.MVE
    architecture = attributes.number(CPU_ARCH)
    if architecture == ARMV7E_M or attributes.number(DSP_EXTENSION):
        return Isa.DSP
    return Isa.SCALAR if architecture else None


def _cpu(attributes: Attributes, library: LibraryUse | None) -> str:
    cores = attributes.cores
    if not cores or cores[0] not in CPUS:
        return ""
    isa = library.isa if library and library.isa else _extension(attributes)
    has = CPUS[cores[0]]
    if isa is None or isa is has:
        return cores[0]
    if has is Isa.MVE:
        return cores[0] + ("+nomve" if isa is Isa.DSP else "+nomve+nodsp")
    return cores[0] + ("+nodsp" if has is Isa.DSP and isa is Isa.SCALAR else "")


def _setting(text: str) -> str:
    for name, pattern in (("armclang", _ARMCLANG), ("clang", _CLANG), ("gcc", _GCC)):
        match = pattern.search(text)
        if match:
            return f"{name}@{match[1]}" if match[1] else name
    return ""


def read_build(path: str) -> Build | LibraryBuild:
    """Read an image or a library. Raises ImageError, whose message is a clause about the file."""
    try:
        content = read_regular(path, LARGEST)
    except NotReadError as error:
        raise ImageError(error.strerror or str(error)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ImageError(f"cannot be read: {reason}") from None
    return build_from(path, memoryview(content))


def build_from(path: str, data: memoryview) -> Build | LibraryBuild:
    """Read what a file has. Raises ImageError."""
    if bytes(data[:8]) == archive.MAGIC:
        return LibraryBuild(path, data)
    if bytes(data[:4]) == MAGIC:
        return Build(path, read_elf(data), map_beside(path))
    return Build(path, read_raw(data))


MOST_CODE = 2**25
"""Bytes of members of a library that are read."""


class LibraryBuild:
    """What a library tells: its members read as images of files that are not linked."""

    def __init__(self, path: str, data: memoryview) -> None:
        """Read the members. Raises ImageError."""
        self.path = path
        self.members = 0
        """Files in it."""
        self.compilers: tuple[Compiler, ...] = ()
        """What compilers wrote into them, each once."""
        self.asked = ""
        """A function of CMSIS-NN that its code calls, whether it is in it or not; empty where it calls none."""
        self.registrations: tuple[str, ...] = ()
        """Operators of TensorFlow Lite Micro whose kernels it has."""
        self.attributes = Attributes({})
        """Attributes of the first of its files."""
        uncompiled: list[str] = []
        functions: dict[str, Code] = {}
        compilers: dict[str, Compiler] = {}
        operators: set[str] = set()
        levels: dict[str, tuple[str, ...]] = {}
        left = len(data) + MOST_CODE
        for member in archive.members(data):
            if is_bitcode(member.data):
                self.members += 1
                uncompiled.append(member.name)
            if bytes(member.data[:4]) != MAGIC:
                continue
            left -= len(member.data)
            if left < 0:
                raise ImageError("its members have more bytes than the file")
            build = Build(member.name, read_elf(member.data))
            self.members += 1
            uncompiled += [member.name] if is_uncompiled(build.image) else []
            members = functions_of(build.image)
            functions |= members
            for level, files in library_levels(build.image, members).items() if members else ():
                levels[level] = (*levels.get(level, ()), *files)
            compilers |= {compiler.text: compiler for compiler in build.compilers}
            operators |= set(filter(None, map(registered_operator, build.image.functions)))
            called = sorted({name for calls in build.image.calls.values() for name in calls.values()})
            self.asked = self.asked or next(filter(is_function, called), "")
            if not self.attributes.values:
                self.attributes = build.attributes
        self.uncompiled = tuple(uncompiled)
        """Names of members that the linker compiles (-flto)."""
        self.compilers = tuple(compilers.values())
        self.registrations = tuple(sorted(operators))
        self.library: LibraryUse | None = use_of(functions, inlined=False, archive=True)
        """CMSIS-NN in it."""
        self.library_levels: Mapping[str, tuple[str, ...]] = levels
        """As that of a Build."""

    @property
    def cpu(self) -> str:
        """As that of a Build."""
        return _cpu(self.attributes, self.library)

    @property
    def extension(self) -> Isa | None:
        """As that of a Build."""
        return _extension(self.attributes)

    @property
    def uncompiled_files(self) -> tuple[str, ...]:
        """Sources of CMSIS-NN that the linker compiles, by names of members."""
        return library_files(self.uncompiled)

    @property
    def reference(self) -> bool:
        """Tell whether it has kernels of TensorFlow Lite Micro, and neither has nor calls a function of CMSIS-NN."""
        return bool(self.registrations) and self.library is None and not self.asked and not self.uncompiled

    @property
    def reference_operators(self) -> tuple[str, ...]:
        """Operators that it has kernels for which call no CMSIS-NN."""
        return tuple(operator for operator in self.registrations if operator in LIBRARY_FUNCTIONS and self.reference)
