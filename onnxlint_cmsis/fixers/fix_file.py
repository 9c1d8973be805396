"""Put a changed model in the place of the old one, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FixResult
from onnxlint_cmsis.config.settings import fixable
from onnxlint_cmsis.fixers.attempt import fix_model
from onnxlint_cmsis.fixers.rewriting import fix_request
from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.formats.onnx.wire import open_buffer
from onnxlint_cmsis.ground.atomic import remove_leftovers, write_bytes
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import ModelError
from onnxlint_cmsis.planning.problem import POLICIES

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.proof.models import ProofRuntime
    from onnxlint_cmsis.formats.format import Format


def replace_file(path: str | Path, new: bytes, *, expected: bytes | None = None) -> None:
    """Replace a model's bytes; any failure and any signal leaves the old ones and no other file.

    `new` is a serialized model that has been proven. Tensors in external files that did not change still point to
    them, and those files are not touched; changed ones are part of the model now. With `expected`, the file must
    still hold these bytes. Raises OSError, also for a file that is not writable.
    """
    target = Path(path).resolve(strict=True)
    if not target.is_file():
        raise OSError(f"{path} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is not writable")

    def check(written: Path) -> None:
        if written.read_bytes() != new:
            raise OSError(f"{path}: the file read back differs from the bytes written")
        if expected is not None and target.read_bytes() != expected:
            raise OSError(f"{path} was changed by someone else meanwhile")

    write_bytes(target, new, check=check)


# Fixing one file: worked out and proven in memory, then put in its place.


class FixedFile(NamedTuple):
    """Result of fixing one file."""

    result: FixResult | None
    """What was done; None where the file cannot be read as a model, which linting explains."""
    analysis: ModelAnalysis | None = None
    """Analysis of what the file holds now; None where it is not at hand."""


def unfixable(form: Format) -> str:
    """Why no file of a format can be fixed here; empty where one can."""
    if not (form.editor and form.prover):
        return f"{form.suffix} files are not fixed: nothing rewrites and proves them"
    runtime: ProofRuntime = part(form.prover)
    return runtime.missing()


def fix_file(path: str, settings: Settings, *, write: bool) -> FixedFile:
    """Fix a file; with `write`, replace it."""
    rules = POLICIES[settings.fix_policy].rules
    if fixable(settings, path).isdisjoint(rules):
        *groups, last = dict.fromkeys(f"{code[:4]}xx" for code in sorted(rules))
        kinds = f"{', '.join(groups)} and {last}" if groups else last
        policy = settings.fix_policy
        reason = f"the rules that --fix-policy {policy} acts on, {kinds}, do not run on it or are not fixable"
        return FixedFile(FixResult(policy, changed=False, written=False, reason=reason, failed=False))
    if write:
        remove_leftovers(Path(path))
    try:
        data, names = open_buffer(path)[:], Path(path).stat().st_nlink
        fixed = fix_model(path, data, fix_request(settings, path))
    except (OSError, ModelError):
        return FixedFile(None)
    if fixed.model is None:
        return FixedFile(fixed.result, fixed.analysis)
    result = _written(path, fixed.result, data, fixed.model) if write else fixed.result
    if result.changed:
        result = result._replace(notes=(*result.notes, *_notes(names - 1, result.written)))
    return FixedFile(result, fixed.analysis if result.written else None)


def _written(path: str, result: FixResult, old: bytes, new: bytes) -> FixResult:
    """The result after the file is replaced."""
    try:
        replace_file(path, new, expected=old)
    except OSError as error:
        reason = f"the fixed model could not be written: {error.strerror or error}"
        return result._replace(changed=False, failed=True, reason=reason)
    return result._replace(written=True)


def _notes(others: int, written: bool) -> tuple[str, ...]:
    """Note on a file's other hard links, which keep the old bytes."""
    if others < 1:
        return ()
    keep = "keep" if written else "would keep"
    if others == 1:
        return (f"the file has another name (hard link), which {'keeps' if written else keep} the old bytes",)
    return (f"the file has {others} other names (hard links), which {keep} the old bytes",)
