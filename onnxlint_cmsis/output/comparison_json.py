"""A difference as plain data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.finding_json import finding_fields, location_fields
from onnxlint_cmsis.output.fix_json import plain_data
from onnxlint_cmsis.output.layer_json import layer_fields

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.output.comparison import Figure, ModelDifference


VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def comparison_json(difference: ModelDifference, over: tuple[Figure, ...]) -> dict[str, object]:
    """Every figure, finding and layer."""
    times = [
        {
            "target": pair.target,
            "before": pair.before and pair.before.fields,
            "after": pair.after and pair.after.fields,
        }
        for pair in difference.times
    ]
    return {
        "version": VERSION,
        "before": difference.before,
        "after": difference.after,
        "figures": [
            {
                **figure._asdict(),
                "left_out": [layer._asdict() for layer in figure.left_out],
                "change": figure.change,
                "exceeded": figure in over,
            }
            for figure in difference.figures
        ],
        "outputs": plain_data(difference.outputs),
        "registers": list(difference.registers),
        "verdicts": [pair._asdict() for pair in difference.verdicts],
        **({"times": times} if times else {}),
        "came": [fields for finding in difference.came for fields in _json_findings(finding, difference.after)],
        "went": [fields for finding in difference.went for fields in _json_findings(finding, difference.before)],
        "stayed": difference.stayed,
        "layers": [
            {
                "layer": changed.layer,
                "target": changed.target,
                "before": layer_fields(changed.before) if changed.before else None,
                "after": layer_fields(changed.after) if changed.after else None,
            }
            for changed in difference.layers
        ],
    }


def _json_findings(finding: Finding, path: str) -> list[dict[str, object]]:
    """A finding and those of its group that it stands for."""
    every = (finding, *finding.others)
    return [{**finding_fields(same), "location": location_fields(same, path)} for same in every]
