"""A difference as plain data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.fields import finding_fields, location_fields

if TYPE_CHECKING:
    from onnxlint_cmsis.comparison.difference import Figure, LayerDifference, ModelDifference, TimePair
    from onnxlint_cmsis.findings import Finding

VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def comparison_json(found: ModelDifference, over: tuple[Figure, ...]) -> dict[str, object]:
    """Every figure, finding and layer."""
    return {
        "version": VERSION,
        "before": found.before,
        "after": found.after,
        "figures": [
            {
                **each._asdict(),
                "left_out": [one._asdict() for one in each.left_out],
                "change": each.change,
                "exceeded": each in over,
            }
            for each in found.figures
        ],
        **({"times": [_time(each) for each in found.times]} if found.times else {}),
        "came": [finding for each in found.came for finding in _findings(each, found.after)],
        "went": [finding for each in found.went for finding in _findings(each, found.before)],
        "stayed": found.stayed,
        "layers": [_layer(each) for each in found.layers],
    }


def _findings(finding: Finding, path: str) -> list[dict[str, object]]:
    """A finding and those of equal cause that it stands for."""
    every = (finding, *finding.others)
    return [{**finding_fields(each), "location": location_fields(each, path)} for each in every]


def _time(pair: TimePair) -> dict[str, object]:
    before, after = (None if each is None else each.fields for each in (pair.before, pair.after))
    return {"target": pair.target, "before": before, "after": after}


def _layer(each: LayerDifference) -> dict[str, object]:
    return {"layer": each.layer, "target": each.target, "before": each.before, "after": each.after}
