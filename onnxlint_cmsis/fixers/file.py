"""Fixing one file: worked out and proven in memory, then put in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.config import codes
from onnxlint_cmsis.fixers.fix import fix_model
from onnxlint_cmsis.fixers.result import FixResult
from onnxlint_cmsis.fixers.state import request_of
from onnxlint_cmsis.fixers.write import replace_file
from onnxlint_cmsis.onnx_graph.errors import ModelError
from onnxlint_cmsis.planning.policies import POLICIES

if TYPE_CHECKING:
    from onnxlint_cmsis.config.settings import Settings


def fix_file(path: str, settings: Settings, *, write: bool) -> FixResult | None:
    """Fix a file; with `write`, replace it. None where it cannot be read as a model, which linting explains."""
    rules = POLICIES[settings.fix_policy].rules
    if not any(codes.enabled(code, settings, path) for code in rules):
        groups = " and ".join(dict.fromkeys(f"{code[:4]}xx" for code in rules))
        policy = f"--fix-policy {settings.fix_policy}"
        return _untouched(settings, f"the rules that {policy} acts on, {groups}, do not run on it")
    try:
        data = Path(path).read_bytes()
        fixed = fix_model(path, data, request_of(settings, path))
    except (OSError, ModelError):
        return None
    if fixed.model is None or not write:
        return fixed.result
    try:
        replace_file(path, fixed.model, expected=data)
    except OSError as error:
        reason = f"the fixed model could not be written: {error.strerror or error}"
        return fixed.result._replace(changed=False, failed=True, reason=reason)
    return fixed.result._replace(written=True)


def _untouched(settings: Settings, reason: str) -> FixResult:
    return FixResult(settings.fix_policy, changed=False, written=False, reason=reason, failed=False)
