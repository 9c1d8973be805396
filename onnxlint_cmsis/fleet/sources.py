"""From folders, globs and URLs to the models of a scan."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.cli.api import is_model, is_skipped
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.named_tuples import NamedTuple

GLOB = frozenset("*?[")
"""Characters that make a path a pattern."""


class ModelUrls(NamedTuple):
    """The models of a scan."""

    urls: tuple[str, ...]
    """Each model once, with its protocol, in the order of the arguments; those of a folder sorted."""
    empty: tuple[str, ...]
    """Arguments that stand for no model."""


def model_urls(given: list[str]) -> ModelUrls:
    """Find the models. Raises UsageError for a file system that is not installed or does not answer."""
    models: dict[str, None] = {}
    empty = []
    for text in given:
        urls = _below(text)
        models.update(dict.fromkeys(urls))
        if not urls:
            empty.append(text)
    return ModelUrls(tuple(models), tuple(empty))


def _below(text: str) -> list[str]:
    """The models of one argument; a file that is named is one, whatever its name."""
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(text)
        if GLOB & set(path):
            return _urls(system, [candidate for candidate in system.glob(path) if is_model(candidate)], text)
        if system.isdir(path):
            models = [below for below in system.find(path) if is_model(below) and not _hidden(below, path)]
            return _urls(system, models, text)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{text}: {error}") from None
    except Exception as error:  # each file system raises other errors
        raise UsageError(f"{text}: it cannot be listed: {type(error).__name__}: {error}") from None
    return _urls(system, [path], text)


def _urls(system: Any, paths: list[str], text: str) -> list[str]:
    """URLs of the paths; those of a chain (`zip://*.onnx::s3://zoo/a.zip`) keep what comes behind its first part."""
    first, chained, rest = text.partition("::")
    if chained and "://" not in first:  # such as `simplecache::s3://zoo`, whose paths are those of the second part
        protocol = rest.partition("://")[0]
        return [f"{first}::{protocol}://{path}" for path in sorted(paths)]
    return [f"{system.unstrip_protocol(path)}{chained}{rest}" for path in sorted(paths)]


def _hidden(path: str, folder: str) -> bool:
    """Tell whether a file lies in a folder that a search does not enter."""
    parts = path[len(folder) :].strip("/").split("/")[:-1]
    return any(map(is_skipped, parts))
