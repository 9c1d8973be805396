"""Layers that the linter flags and that did not run: nothing is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.route import route

if TYPE_CHECKING:
    from collections.abc import Set

    from firmware_check.opening import OpenedModel
    from onnxlint_cmsis.types import Target


def flagged_layers(model: OpenedModel, target: Target, labels: Set[str]) -> tuple[tuple[str, str], ...]:
    """Label and hazard of each layer among `labels` that the target computes wrongly."""
    if not labels:
        return ()
    records = model.analysis(target).lowered.records
    calls = [(record.node.label, record.call) for record in records if record.call is not None]
    return tuple(
        (label, hazard.id) for label, call in calls if label in labels for hazard in route(call, target).hazards
    )
