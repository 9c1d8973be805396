"""Formats of model files: one row for each, found from a file's name or from bytes without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from onnxlint_cmsis.ground.errors import wrong_type
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.leftovers import Leftovers


class LoadedFile(Protocol):
    """A model file that was read."""

    @property
    def graph(self) -> Graph:
        """Nodes, tensors and constants; weights are not read."""

    def digest(self) -> bytes | None:
        """What stands for the bytes of the file and of all files that hold values of it; None where it is not known."""

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read constants by their key in the graph, None for what cannot be read."""

    def leftovers(self) -> Leftovers:
        """What the file says and the graph does not; read now."""

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """Sizes of results as a runtime computes them from those of inputs and constants; without all others."""


class Format(NamedTuple):
    """One format of model files.

    What rooms above do with it is named as `module:name` of the package and imported when it is asked for. So a lint
    loads nothing that writes or proves, and an ONNX model loads nothing of TensorFlow Lite.
    """

    name: str
    """Name of its folder in `formats/`."""
    suffix: str
    """Ending of the files' names, in lower case."""
    loads: str
    """Function of a path, `input_shapes` and `data` that reads a file as a LoadedFile, and raises ModelError."""
    domain: str = ""
    """Domain of the operators in a graph of the format; empty where they are ONNX's, which has several."""
    names: str = ""
    """Table of the operators of that domain: record by name."""
    mark: bytes = b""
    """Bytes 4 to 7 of every file; empty where there are none that tell the format."""
    interpreter: str = ""
    """Runtime that reads such a file as it is, and that it is judged for; empty where it is converted before."""
    interpretation: str = ""
    """Class of what that runtime does with a file; empty where there is none."""
    revision: str = ""
    """Function of a loaded file and its runtime: the revision it is judged for; empty where no file decides on it."""
    editor: str = ""
    """Editor that writes changes into a file; empty where none does, so that no file is fixed."""
    prover: str = ""
    """Prover that runs files of the format; empty where none does."""
    fit: str = ""
    """Function of what the runtime does with a file, a target and its room, that tells whether it fits the device."""
    beside: str = ""
    """Function of a file's bytes that lists the files beside it that it is read with; empty where there are none."""
    refused: str = ""
    """Function of a node that tells whether the prover refuses it; empty where it takes all."""
    unfixed: str = "nothing rewrites and proves them"
    """Why files are not fixed where there is no editor or no prover, and what helps, as a clause."""
    repairs: tuple[str, ...] | None = ()
    """Names of the repairs that the editor can do; None for all of them."""

    @property
    def adds_operators(self) -> bool:
        """Whether a fix may add operators; False where the application may not have registered them."""
        return self.repairs is None

    def load(
        self, path: str, data: bytes | None = None, input_shapes: Mapping[str, tuple[Size, ...]] | None = None
    ) -> LoadedFile:
        """Read a file, or `data` in its place; `input_shapes` are for inputs whose size it leaves open.

        Raises ModelError.
        """
        loaded: LoadedFile = part(self.loads)(path, input_shapes=input_shapes, data=data)
        return loaded


@cache
def part(name: str) -> Any:
    """What `module:name` of this package means, imported now."""
    module, _, inside = name.partition(":")
    return getattr(import_module(f"onnxlint_cmsis.{module}"), inside)


ONNX = Format(
    "onnx",
    ".onnx",
    "formats.onnx.load:load_model",
    editor="fixers.repairs.table:ONNX_EDITOR",
    prover="fixers.proof.models:ONNX_RUNTIME",
    beside="formats.onnx.external_data:external_locations",
    repairs=None,
)
TFLITE = Format(
    "tflite",
    ".tflite",
    "formats.tflite.to_graph:load_tflite",
    domain="tflite",
    names="formats.tflite.names:TFLITE_OPERATORS",
    mark=b"TFL3",
    interpreter="tflm",
    interpretation="runtimes.tflm.interpretation:Interpretation",
    fit="analysis.tflite_fit:tflite_fit",
    editor="fixers.repairs.table:TFLITE_EDITOR",
    prover="fixers.proof.models:LITERT_RUNTIME",
    refused="formats.tflite.unproven:litert_refuses",
    repairs=("zero-bias", "wider-window"),
)
PTE = Format(
    "pte",
    ".pte",
    "formats.pte.to_graph:load_pte",
    domain="executorch",
    names="formats.pte.names:PTE_OPERATORS",
    mark=b"ET12",
    interpreter="executorch",
    interpretation="runtimes.executorch.interpret:Interpretation",
    revision="runtimes.executorch.releases:revision_for",
    fit="analysis.fit:planned_fit",
    unfixed="multipliers and memory in a program follow from the model that it was exported from; change that one, and "
    "export it again for your core, as for a Cortex-M4 with "
    "CortexMPassManager(program, target_config=CortexMTargetConfig(CortexM.M4))",
)
BPTE = PTE._replace(suffix=".bpte", mark=b"BP08")
"""A program with test inputs and expected outputs."""
FORMATS = (ONNX, TFLITE, PTE, BPTE)
"""All formats; a file whose name tells none of them is read as the first."""
SUFFIXES = tuple(row.suffix for row in FORMATS)
"""Endings of the files that a search of folders finds."""
ENDINGS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
"""Those endings in a sentence."""
C_SUFFIXES = (".h", ".hh", ".hpp", ".c", ".cc", ".cpp", ".cxx", ".ino")
"""Endings of C and C++ files, which may hold models as arrays (`c_arrays.py`)."""
IMAGE_SUFFIXES = (".elf", ".axf", ".out", ".hex", ".uf2", ".bin", ".img", ".a")
"""Endings of firmware images, which may hold models, and of libraries (`images/`)."""
ELF_SUFFIXES = (".elf", ".axf")
"""Those of them that are firmware for sure, with symbols as the linker wrote them."""
INSIDE = "::"
"""Between a C file or an image and a model in it, with the ending of that: `model.cc::g_model.tflite`."""
SKIPPED_FOLDERS = frozenset({"venv", "node_modules", "site-packages", "__pycache__"})
"""Folders a search does not enter unless they are named, like hidden ones: other people's models are in there."""


def is_model(name: str) -> bool:
    """Tell whether a file is named like a model. Raises TypeError for a name that is no text."""
    if not isinstance(name, str):
        raise wrong_type("the name of a file is a text", name)
    return name.lower().endswith(SUFFIXES)


def is_c(name: str) -> bool:
    """Tell whether a file is named like C or C++."""
    return name.lower().endswith(C_SUFFIXES)


def is_image(name: str) -> bool:
    """Tell whether a file is named like a firmware image or a library."""
    return name.lower().endswith(IMAGE_SUFFIXES)


def file_of(path: str) -> str:
    """The file that holds the model of a path: the C file of an array, a firmware image, else the path itself."""
    file, inside, _ = path.rpartition(INSIDE)
    return file if inside and (is_c(file) or is_image(file)) else path


def array_in(path: str) -> str:
    """What a path names inside of a C file or an image; empty where it names a file."""
    return path[len(file_of(path)) + len(INSIDE) :]


def is_skipped(folder: str) -> bool:
    """Whether a search does not enter a folder, given by its name: a hidden one, or one with other people's models.

    Raises TypeError for a name that is no text.
    """
    if not isinstance(folder, str):
        raise wrong_type("the name of a folder is a text", folder)
    return folder.startswith(".") or folder in SKIPPED_FOLDERS


def format_of(path: str) -> Format:
    """The format that a file is read in, by its name's ending."""
    return next((row for row in FORMATS if path.lower().endswith(row.suffix)), ONNX)


def marked_format(data: bytes) -> Format | None:
    """The format of bytes that no name tells the format of, by their mark; None where they have none."""
    return next((row for row in FORMATS if row.mark and row.mark == data[4:8]), None)


def format_read_by(runtime: str) -> Format | None:
    """The format that a runtime reads as it is; None where there is none."""
    return next((row for row in FORMATS if row.interpreter == runtime), None)


RELEASES: Mapping[str, str] = MappingProxyType(
    {
        "1.0.1": "2025-11-20", "1.1.0": "2026-01-27", "1.2.0": "2026-04-01", "1.3.0": "2026-05-26",
        "1.3.1": "2026-05-28", "1.4.0": "2026-08-06", "1.4.1": "2026-08-14", "cff6f4dd": "2026-08-22",
        "1.5.1": "2026-09-18", "1.6.0": "2026-11-28",
    }
)  # fmt: skip
"""Releases of ExecuTorch, and a commit between them, oldest first, with the day of each; 1.6.0 is its main branch on
that day."""
