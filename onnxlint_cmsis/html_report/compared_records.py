"""Before and after as the page shows them."""

from __future__ import annotations

from onnxlint_cmsis.html_report.page_records import Fact, FindingBlock, TargetSection
from onnxlint_cmsis.named_tuples import NamedTuple


class FigurePair(NamedTuple):
    """One figure before and after."""

    label: str
    """What it counts and where."""
    before: str
    """Figure of the first version."""
    after: str
    """Figure of the second."""
    change: str
    """Difference, empty where there is none."""
    trend: str
    """`less`, `more` or `same`: a class of the style sheet."""


class ChangedLayer(NamedTuple):
    """A layer that is new, gone, or has another kernel or cost."""

    name: str
    """Short name."""
    target: str
    """CPU."""
    before: Fact
    """Kernel and cost before."""
    after: Fact
    """Kernel and cost after."""


class ComparedPage(NamedTuple):
    """Before and after."""

    before: str
    """Name of the first version."""
    after: str
    """Name of the second."""
    figures: tuple[FigurePair, ...]
    """Figures of both."""
    came: tuple[FindingBlock, ...]
    """New findings."""
    went: tuple[FindingBlock, ...]
    """Findings that are gone."""
    stayed: int
    """Findings that both have."""
    layers: tuple[ChangedLayer, ...]
    """Layers that changed, at most MOST."""
    left_out: int
    """Changed layers that are not shown."""
    sections: tuple[tuple[TargetSection | None, TargetSection | None], ...]
    """Both versions on each target."""
