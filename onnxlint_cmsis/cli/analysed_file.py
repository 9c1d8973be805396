"""A file that a command looks at: its analysis, and the verdicts in front of what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.ground.errors import UsageError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings


def analysed(path: str, settings: Settings, data: bytes | None = None, *, name: str = "") -> ModelAnalysis:
    """The analysis of a file, or of `data` under a name. Raises UsageError."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.formats.format import is_image
    from onnxlint_cmsis.images.held_models import names_in
    from onnxlint_cmsis.model.model_error import ModelError

    try:
        return ModelAnalysis(name or path, settings.analysis, data)
    except ModelError as error:
        inside = names_in(path) if is_image(path) else []
        reason = f"it is firmware: name a model in it, {' or '.join(inside)}" if inside else error.message
        raise UsageError(f"{path}: {reason}") from None


def verdict_head(
    model: ModelAnalysis, settings: Settings, data: bytes | None = None, *, full_names: bool, color: bool = False
) -> str:
    """The verdicts on a model, or on `data`, as `lint` prints them: a line for each, and an empty line."""
    from onnxlint_cmsis.cli.engine import lint_file
    from onnxlint_cmsis.output.concise import verdict_lines
    from onnxlint_cmsis.output.run_results import Run

    run = Run((), (), 0, "", color=color, width=columns(), full_names=full_names)
    lines = verdict_lines(lint_file(model.path, settings, data, model), run)
    return "".join(f"{line}\n" for line in (*lines, ""))
