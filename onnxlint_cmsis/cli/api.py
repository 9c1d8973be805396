"""The Python API: what the commands `lint`, `layers` and `--fix` find, as data.

Settings are the keys of the configuration with underscores (`targets=["cortex-m4"]`, `fix_policy="align"`); no
configuration file is read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn, Protocol

from onnxlint_cmsis.config.files import make_settings, settings_of
from onnxlint_cmsis.formats.format import ENDINGS, SUFFIXES, is_model, is_skipped, marked_format
from onnxlint_cmsis.formats.held import held_model, is_held
from onnxlint_cmsis.ground.errors import wrong_type
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.analysis.results import FileResult, FileSummary, TargetSummary
    from onnxlint_cmsis.config.given import SettingValues
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.output.layers import LayersReport

__all__ = [
    "BYTES",
    "ENDINGS",
    "SUFFIXES",
    "FileResult",
    "FileSummary",
    "FixResult",
    "LayersReport",
    "ModelError",
    "Serializable",
    "Settings",
    "TargetSummary",
    "fix",
    "is_model",
    "is_skipped",
    "layers",
    "lint",
    "lint_bytes",
    "make_settings",
    "refuse_unread",
]


BYTES = "<bytes>"
"""What a model goes by that comes from no file."""
MODELS = "a model is a path, bytes or an onnx.ModelProto"
"""What is allowed, for a TypeError."""


class Serializable(Protocol):
    """A model in memory, such as onnx.ModelProto."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - a name of protobuf
        """Its bytes as in a file."""


def lint(model: str | os.PathLike[str] | bytes | Serializable, **settings: Unpack[SettingValues]) -> FileResult:
    """Findings on a model, given by its path, its bytes or as onnx.ModelProto, with a summary of it.

    All levels are returned unless `min_level` says otherwise; accepted findings (`suppress`, `baseline`) are not.
    Raises UsageError for settings that do not exist or cannot be, ModelError for a file that is no model, TypeError for
    what is neither path nor model.
    """
    path, data = _named(model)
    resolved = _settings(path, settings)
    analysis = _opened(path, resolved, data)
    from onnxlint_cmsis.cli.conclusion import conclude
    from onnxlint_cmsis.cli.engine import lint_file
    from onnxlint_cmsis.cli.jobs import Job, Linted

    result = lint_file(path, resolved, data, analysis)
    return conclude([Linted(Job(path, resolved, data), result)], "json").files[0]


def lint_bytes(name: str, data: bytes, settings: Settings) -> FileResult:
    """Findings on one of many models, with a summary of it; `name` is where its bytes come from, such as a URL.

    `make_settings` makes the settings, once for all models of a format. Nothing is raised for bytes that are no model:
    `readable` is False then, and a finding says why. No baseline is laid over the findings, and those of one cause are
    not joined. Constants in files beside a model that is no local file are not fetched: `unfetched` is True then.
    Raises TypeError for a name that is no text, data that are no bytes, and settings that `make_settings` did not make.
    """
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.cli.engine import lint_file
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.formats.onnx.external_data import NOT_FETCHED

    if not isinstance(name, str):
        raise wrong_type("the name of a model is a text", name)
    if not isinstance(data, bytes):
        raise wrong_type("the data of a model are bytes", data)
    if not isinstance(settings, Settings):
        raise wrong_type("settings are those that make_settings gives", settings)
    try:
        model = ModelAnalysis(name, settings.analysis, data)
    except ModelError:
        return lint_file(name, settings, data)
    result = lint_file(name, settings, data, model)
    findings = tuple(finding for finding in result.findings if NOT_FETCHED not in finding.message)
    unfetched = any(NOT_FETCHED in problem.message for problem in model.graph.problems)
    return result._replace(findings=findings, unfetched=unfetched)


def layers(model: str | os.PathLike[str] | bytes | Serializable, **settings: Unpack[SettingValues]) -> LayersReport:
    """Every layer of a model on every target, with its kernel, sizes, cost and memory, and the sums of each target.

    The model is given as to `lint`. Raises UsageError for settings that do not exist or cannot be, ModelError for a
    file that is no model.
    """
    from onnxlint_cmsis.cli.engine import layers_report

    path, data = _named(model)
    resolved = _settings(path, settings)
    try:
        return layers_report(path, resolved, data)
    except ModelError as error:
        _refuse(path, error)


def fix(path: str | os.PathLike[str], write: bool = False, **settings: Unpack[SettingValues]) -> FixResult:
    """What a fix changes in a model file, with its proof; with `write` the fixed model takes the file's place.

    It runs in a process apart, so that ONNX Runtime cannot end the caller's. The result's `failed` and `reason` say
    what could not be done. Raises UsageError for settings that do not exist or cannot be, ModelError for a file that
    is no model, TypeError for something that is no path, RuntimeError for an error inside the fix.
    """
    from onnxlint_cmsis.cli.isolated_fix import fix_apart
    from onnxlint_cmsis.cli.jobs import Job

    name = _file_named(path)
    resolved = _settings(name, settings)
    fixed = fix_apart(Job(name, resolved, fix="fix-only" if write else "diff"))
    if fixed is not None:
        return fixed
    _opened(name, resolved, None)
    raise ModelError("unreadable", f"{name}: it could not be read while it was fixed")


def _named(model: str | os.PathLike[str] | bytes | Serializable) -> tuple[str, bytes | None]:
    """The path, or a name for the bytes that says their format, and the bytes."""
    if isinstance(model, (str, os.PathLike)):
        return _file_named(model), None
    if not isinstance(model, bytes):
        if isinstance(model, type) or not hasattr(model, "SerializeToString"):
            raise wrong_type(MODELS, model)
        serialized = model.SerializeToString()
        if not isinstance(serialized, bytes):
            raise wrong_type(f"{MODELS}, whose SerializeToString gives bytes", serialized)
        model = serialized
    form = marked_format(model)
    return BYTES + (form.suffix if form else ""), model


def _file_named(path: str | os.PathLike[str]) -> str:
    """The path, with the name of the array where it is a C file. Raises ModelError, TypeError."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise wrong_type("a model file is a path", path)
    if not is_held(name):
        return name
    try:
        return held_model(name).path
    except ModelError as error:
        raise ModelError(error.kind, f"{name}: {error.message}") from None


def refuse_unread(settings: Settings) -> None:
    """Read the file that the setting `timing` names, before models are. Raises UsageError."""
    _ = settings.calibration


def _settings(path: str, given: SettingValues) -> Settings:
    """The settings of a file; UsageError where they, or a file that they name, cannot be used."""
    settings = settings_of(path, {**given})
    refuse_unread(settings)
    if settings.baseline:
        from onnxlint_cmsis.config import baseline

        baseline.read(settings.baseline)
    return settings


def _opened(path: str, settings: Settings, data: bytes | None) -> ModelAnalysis:
    """The analysis of a model; the ModelError of a file that is none names it."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

    try:
        return ModelAnalysis(path, settings.analysis, data)
    except ModelError as error:
        _refuse(path, error)


def _refuse(path: str, error: ModelError) -> NoReturn:
    raise ModelError(error.kind, f"{path}: {error.message}") from None
