"""Fixing one file: worked out and proven in memory, then put in its place, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.config.selection import fixable
from onnxlint_cmsis.ground.atomic_write import remove_leftovers, write_bytes
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.snapshot import Snapshot


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


class FixedFile(NamedTuple):
    """Result of fixing one file."""

    result: FixResult | None
    """What was done; None where the file cannot be read as a model, which linting explains."""
    state: Snapshot | None = None
    """What the file holds now, with its analysis; None where that is not at hand."""


def fix_file(path: str, settings: Settings, *, write: bool) -> FixedFile:
    """Fix a file; with `write`, replace it."""
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.cli.fix_promises import fix_request
    from onnxlint_cmsis.fixers.fix_model import fix_model
    from onnxlint_cmsis.fixers.planning.policies import POLICIES
    from onnxlint_cmsis.formats.onnx.opening import open_buffer

    policy = settings.fix_policy
    rules = POLICIES[policy].rules
    if fixable(settings, path).isdisjoint(rules):
        *groups, last = dict.fromkeys(f"{code[:4]}xx" for code in sorted(rules))
        kinds = f"{', '.join(groups)} and {last}" if groups else last
        reason = f"the rules that --fix-policy {policy} acts on, {kinds}, do not run on it or are not fixable"
        return FixedFile(FixResult(policy, changed=False, written=False, reason=reason, failed=False))
    if write:
        remove_leftovers(Path(path))
    try:
        data, names = open_buffer(path)[:], Path(path).stat().st_nlink
        fixed = fix_model(path, data, fix_request(settings, path))
    except (OSError, ModelError):
        return FixedFile(None)
    result = fixed.result
    if fixed.model is None:
        return FixedFile(result, fixed.end)
    if write:
        try:
            replace_file(path, fixed.model, expected=data)
            result = result._replace(written=True)
        except OSError as error:
            reason = f"the fixed model could not be written: {error.strerror or error}"
            result = result._replace(changed=False, failed=True, reason=reason)
    others, keep = names - 1, "keep" if result.written else "would keep"
    if result.changed and others == 1:
        keeps = "keeps" if result.written else keep
        note = f"the file has another name (hard link), which {keeps} the old bytes"
        result = result._replace(notes=(*result.notes, note))
    elif result.changed and others > 1:
        note = f"the file has {others} other names (hard links), which {keep} the old bytes"
        result = result._replace(notes=(*result.notes, note))
    return FixedFile(result, fixed.end if result.written else None)
