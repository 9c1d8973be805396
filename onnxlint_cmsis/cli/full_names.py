"""Settings whose suppressions name nodes and tensors as the model does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings


def with_full_names(settings: Settings, model: ModelAnalysis) -> Settings:
    """Settings whose suppressions name nodes and tensors as the model does, where they use the short names shown."""
    if not any(entry.node or entry.tensor for entry in settings.suppress):
        return settings
    from onnxlint_cmsis.analysis.layer_names import layer_names

    full = {short: name for name, short in layer_names(model).names.items()}
    entries = (
        entry._replace(node=full.get(entry.node, entry.node), tensor=full.get(entry.tensor, entry.tensor))
        for entry in settings.suppress
    )
    return replace(settings, suppress=tuple(entries))
