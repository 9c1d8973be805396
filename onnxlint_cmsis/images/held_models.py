"""The models of an image as models of a run: `app.elf::g_model.tflite`."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from onnxlint_cmsis.formats.format import INSIDE, array_in, file_of, is_image
from onnxlint_cmsis.formats.held import HeldModel
from onnxlint_cmsis.images.build import Build, LibraryBuild, build_from, read_build
from onnxlint_cmsis.images.image import ImageError
from onnxlint_cmsis.model.model_error import ModelError


def names_in(path: str) -> list[str]:
    """The names that the models of an image go by; none where it cannot be read."""
    try:
        build = read_build(path)
    except ImageError:
        return []
    return [f"{path}{INSIDE}{model.label}" for model in build.models] if isinstance(build, Build) else []


def newest_build(path: str) -> Build | LibraryBuild:
    """The image at a path, or the newest of those that a pattern matches. Raises ImageError."""
    if not any(sign in path for sign in "*?[") or Path(path).exists():
        return read_build(near(path))
    matching = sorted(glob.glob(path, recursive=True), key=lambda name: (Path(name).stat().st_mtime, name))  # noqa: PTH207 - a path that may be absolute
    if not matching:
        raise ImageError("no file matches it; build the firmware first")
    return read_build(near(matching[-1]))


def near(path: str) -> str:
    """The path from the working directory where it is below it, so that messages are short."""
    here = f"{os.getcwd()}{os.sep}"  # noqa: PTH109 - a text
    return path.removeprefix(here)


def firmware_at(path: str) -> Build | LibraryBuild | None:
    """The image or library at a path; None for a path of another kind, and for bytes that no image is told by.

    Raises ModelError where it is an image and cannot be read.
    """
    if not is_image(path):
        return None
    try:
        build = read_build(path)
    except ImageError as error:
        raise ModelError("unreadable", str(error)) from None
    return None if isinstance(build, Build) and build.image.form == "bin" and not build.models else build


def model_at(path: str, content: bytes | None = None) -> HeldModel:
    """The model of an image that a path names; `content` is what the image has. Raises ModelError."""
    file, wanted = file_of(path), array_in(path)
    try:
        build = read_build(file) if content is None else build_from(file, memoryview(content))
    except ImageError as error:
        raise ModelError("unreadable", str(error)) from None
    models = build.models if isinstance(build, Build) else ()
    named = [model for model in models if wanted in (model.label, model.name)]
    if len(named) != 1:
        listed = ", ".join(f"{file}{INSIDE}{model.label}" for model in models[:10])
        raise ModelError("unreadable", f"no model {wanted!r} is in it" + (f": name {listed}" if listed else ""))
    return HeldModel(f"{file}{INSIDE}{named[0].label}", named[0].data)
