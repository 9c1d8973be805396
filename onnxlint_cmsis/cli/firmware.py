"""Firmware in a run: the image of a model, what is said of a model that runs in it, and of the image itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.checks.deployment import Deployment, ImageSubject, StatedSetting
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import checks_of
from onnxlint_cmsis.config.selection import adjust, enabled
from onnxlint_cmsis.formats.format import array_in, file_of, is_image
from onnxlint_cmsis.ground.findings import Effect, Finding
from onnxlint_cmsis.images.build import Build, LibraryBuild
from onnxlint_cmsis.images.held_models import firmware_at, near, newest_build
from onnxlint_cmsis.images.image import ImageError
from onnxlint_cmsis.images.in_short import build_sentences
from onnxlint_cmsis.images.model_arena import arena_of
from onnxlint_cmsis.images.settings import build_settings
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.types import Target

COMPARED = ("targets", "release", "compiler", "runtime")
"""Settings of which an image tells too."""


def build_for(path: str, settings: Settings) -> Build | None:
    """The image that a model is in, or that the settings name; None where there is none, or it is a library."""
    try:
        if is_image(file_of(path)) and array_in(path):
            build = newest_build(file_of(path))
        elif settings.firmware:
            build = newest_build(settings.firmware)
        else:
            return None
    except ImageError:
        return None
    return build if isinstance(build, Build) else None


def deployment_findings(model: ModelAnalysis, settings: Settings) -> list[Finding]:
    """What is to be said of a model in its image."""
    build = build_for(model.path, settings)
    if build is None:
        return []
    data = model.data
    inside = next((row for row in build.models if row.data == data), None)
    return _findings(RuleScope.DEPLOYMENT, Deployment(model, build, inside), settings, model.path)


def image_faults(model: ModelAnalysis, settings: Settings) -> list[Finding]:
    """What is wrong with the image of a model, whichever model it is, so that it cannot run rightly there."""
    build = build_for(model.path, settings)
    if build is None:
        return []
    said = _findings(RuleScope.IMAGE, ImageSubject(build), settings, build.path)
    return [finding for finding in said if finding.effect in (Effect.STOPS, Effect.WRONG)]


def _findings(scope: RuleScope, subject: object, settings: Settings, path: str) -> list[Finding]:
    """What the rules of a scope say that are not left out for a path."""
    checks = [check for check in checks_of(scope) if enabled(check.rule.code, settings, path)]
    return [finding for check in checks for finding in check.findings(subject)]


def firmware_of(model: ModelAnalysis, settings: Settings) -> str:
    """The image that the settings name and that has the bytes of a model file; empty where it has others."""
    build = None if array_in(model.path) else build_for(model.path, settings)
    return build.path if build and any(row.data == model.data for row in build.models) else ""


def untold(model: ModelAnalysis, settings: Settings) -> tuple[str, ...]:
    """What the image does not tell and nobody set, as sentences."""
    build = build_for(model.path, settings)
    if build is None:
        return ()
    told = build_settings(build).values
    missing = [name for name in ("targets", "release") if name not in told and settings.origins[name] == "default"]
    defaults = f"{build.path} does not tell {' and '.join(missing)}: defaults are taken, unless you set them."
    return (*([defaults] if missing else ()), *_untold_kernels(build, settings), *_untold_arena(model, build))


def _untold_kernels(build: Build, settings: Settings) -> Iterator[str]:
    """Say that costs are those of CMSIS-NN where the image does not show that it computes."""
    if build.tells_kernels or not settings.runtime.reads_tflite or settings.origins["cmsis-nn-build"] != "default":
        return
    inlined = build.runtime is not None and build.runtime.whole_program
    because = ": link-time optimization left no name that tells it" if inlined else ""
    yield (
        f"{build.path} does not tell whether kernels of CMSIS-NN or TensorFlow Lite Micro's own compute{because}. "
        "Costs are those of CMSIS-NN; reference code takes 2 to 85 times the instructions (cmsis-nn-build = NONE)."
    )


def _untold_arena(model: ModelAnalysis, build: Build) -> Iterator[str]:
    """Say which of several arenas a model is compared with."""
    taken = arena_of(build, next((row for row in build.models if row.data == model.data), None))
    if taken and taken.of > 1 and model.execution.reads_file:
        yield (
            f"{build.path} has {taken.of} objects that are called arena and does not tell which is this model's: the "
            f"largest, {taken.arena.name} of {taken.arena.size:,} bytes, is compared."
        )


def deployment_notes(model: ModelAnalysis, settings: Settings) -> tuple[str, ...]:
    """How the image decided what is not set, and where the model is in it, as sentences."""
    build = build_for(model.path, settings)
    if build is None:
        return ()
    told = build_settings(build)
    timed = ("weights-in", "arena-in") if settings.clock else ()
    taken = [
        name
        for name in (*COMPARED, "cmsis-nn-build", "ram", "flash", *timed)
        if settings.origins.get(name) == build.path
    ]
    notes = []
    if taken:
        shown = ", ".join(f"{name} {_shown(name, settings, told.releases)}" for name in taken)
        notes.append(f"{build.path} decides what is not set: {shown}.")
    if told.others and "targets" in taken:
        notes.append(f"The same image could be for a {' or '.join(told.others)}: name yours with --target.")
    if firmware_of(model, settings):
        inside = next(row for row in build.models if row.data == model.data)
        notes.append(f"It is in {build.path} as {inside.name}.")
    return tuple(notes)


def _shown(name: str, settings: Settings, releases: tuple[str, ...]) -> str:
    if name == "release" and len(releases) > 1:
        return f"{releases[0]} to {releases[-1]}"
    value = settings.raw[name]
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def lint_firmware(path: str, settings: Settings) -> FileResult | None:
    """What is to be said of an image; None for what is none. Raises ModelError for one that cannot be read."""
    build = firmware_at(path)
    return None if build is None else _linted(build, path, settings)


def _linted(build: Build | LibraryBuild, path: str, settings: Settings) -> FileResult:
    subject = ImageSubject(build, _stated(settings, near(path)), _targets(settings, near(path)), _used(build, settings))
    raw = _findings(RuleScope.IMAGE, subject, settings, path)
    findings = tuple(filter(None, (adjust(finding, settings) for finding in raw)))
    return FileResult(path, findings, settings.fail_on, model=False, notes=build_sentences(build))


def _stated(settings: Settings, image: str) -> dict[str, StatedSetting]:
    return {
        name: StatedSetting(str(settings.raw[name]), settings.origins[name])
        for name in COMPARED
        if settings.origins[name] not in ("default", image)
        and (name != "release" or settings.origins["release"] != settings.runtime.label)
    }


def _targets(settings: Settings, image: str) -> tuple[Target, ...]:
    return settings.targets if settings.origins["targets"] not in ("default", image) else ()


def _used(build: Build | LibraryBuild, settings: Settings) -> frozenset[str] | None:
    """Methods that register the operators of the models of an image; None where one cannot be read."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.images.held_models import names_in

    if not isinstance(build, Build):
        return None
    used: set[str] = set()
    for name in names_in(build.path):
        try:
            model = ModelAnalysis(name, settings.analysis)
        except ModelError:
            return None
        used |= {row.method for row in model.execution.resolver.operators} if model.execution.resolver else set()
    return frozenset(used)
