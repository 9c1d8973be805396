"""From the paths that a command is given to the models of the run: files, those of folders, arrays of C files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from onnxlint_cmsis.formats.format import (
    C_SUFFIXES,
    ELF_SUFFIXES,
    file_of,
    is_c,
    is_image,
    is_model,
    is_skipped,
    marked_format,
)
from onnxlint_cmsis.formats.held import held_model, is_held
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import MODEL, NotReadError, read_stream
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

STDIN = "-"
STDIN_NAME = "<stdin>"


class Piped(NamedTuple):
    """A model from standard input."""

    name: str
    """What it goes by; the ending tells its format."""
    data: bytes
    """Its bytes."""


def standard_input(name: str = STDIN_NAME) -> Piped:
    """The model on standard input under a name; without one, its start tells the format. Raises UsageError."""
    from onnxlint_cmsis.formats.c_arrays import shows_sign

    try:
        data = read_stream(sys.stdin.buffer, MODEL, "standard input")
    except NotReadError as error:
        raise UsageError(f"standard input {error.strerror}") from None
    if name == STDIN_NAME and shows_sign(data):
        name += C_SUFFIXES[0]
    if is_held(name):
        try:
            held = held_model(name, data)
            return Piped(held.path, held.data)
        except ModelError as error:
            raise UsageError(f"{name}: {error.message}") from None
    form = marked_format(data) if name == STDIN_NAME else None
    return Piped(f"{name}{form.suffix}" if form else name, data)


class ModelFiles(NamedTuple):
    """The models of a run."""

    files: tuple[str, ...]
    """Each model once, in the order of the paths, a folder's files sorted."""
    empty: tuple[str, ...]
    """Folders in which there is no model."""
    unreadable: tuple[str, ...] = ()
    """Folders that cannot be listed, each with the reason."""


def discover(
    paths: Iterable[str],
    excluded: Callable[[str], bool],
    *,
    force_exclude: bool = False,
    ignored: Callable[[str, list[str]], frozenset[str]] = lambda _folder, _files: frozenset(),
) -> ModelFiles:
    """Find the models to lint.

    `ignored` tells which files of a folder are not to be found by a search, as version control wants it.
    `excluded` tells whether the configuration leaves a file or folder out. A file that is named itself is linted all
    the same, unless `force_exclude` is set. A path that does not exist counts as a file, so that it is reported, and so
    does a folder that is named like a model and holds none. A search reads a C file that looks as if it held a model.
    A firmware image that is named follows the models in it.
    """
    files: dict[str, None] = {}
    empty: list[str] = []
    unreadable: list[str] = []

    def cannot_list(error: OSError) -> None:
        unreadable.append(f"{error.filename}: the folder cannot be listed: {error.strerror or error}")

    for path in paths:
        if path != STDIN and _is_folder(path):
            before = len(unreadable)
            every = sorted(_search(path, excluded, cannot_list))
            left_out = ignored(path, every)
            listed = [model for file in every if file not in left_out for model in _models_in(file)] or _mistaken(path)
            files.update(dict.fromkeys(listed))
            if not listed and len(unreadable) == before:
                empty.append(path)
        elif path == STDIN or not (force_exclude and excluded(path)):
            name = path if path == STDIN else os.path.normpath(path)
            files.update(dict.fromkeys([*models_of(name), *([name] if is_image(name) else [])]))
    return ModelFiles(tuple(files), tuple(empty), tuple(unreadable))


def models_of(path: str) -> list[str]:
    """The names of the models in a file that is named: those in C or a firmware image, else the file itself."""
    return _models_in(path) or [path]


def _models_in(path: str) -> list[str]:
    """The same, none for C and images without a model."""
    if is_image(path):
        from onnxlint_cmsis.images.held_models import names_in as names_in_image

        return names_in_image(path)
    if not is_c(file_of(path)):
        return [path]
    from onnxlint_cmsis.formats.c_arrays import names_in

    return names_in(path)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a name that is too long, a folder above that may not be entered
        return False


def images_in(folder: str) -> list[str]:
    """Firmware with symbols in a folder, which no search takes: every build makes it anew."""
    return sorted(str(path) for path in Path(folder).iterdir() if path.suffix.lower() in ELF_SUFFIXES)


def _mistaken(folder: str) -> list[str]:
    """The folder itself where it has the name of a model, none elsewhere."""
    name = os.path.normpath(folder)
    return [name] if is_model(name) else []


def _search(folder: str, excluded: Callable[[str], bool], cannot_list: Callable[[OSError], None]) -> Iterator[str]:
    """Every file below a folder that may hold a model; links to folders are not followed."""
    for root, folders, files in os.walk(os.path.normpath(folder), onerror=cannot_list):
        here = Path(root)
        folders[:] = [name for name in folders if not is_skipped(name) and not excluded(str(here / name))]
        for name in files:
            path = str(here / name)
            if (is_model(name) or (is_c(name) and _has_sign(path))) and not excluded(path):
                yield path


def _has_sign(path: str) -> bool:
    from onnxlint_cmsis.formats.c_arrays import has_sign

    return has_sign(path)
