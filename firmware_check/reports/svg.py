"""Instructions per layer, before and after, as an SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from firmware_check.reports.text import distinct
from onnxlint_cmsis.output.foreign_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.compare import Comparison
    from firmware_check.target_check import TargetCheck


_INCHES_PER_LAYER = 0.32


_WIDTH = 10


def plot(path: str, checks: Sequence[TargetCheck], comparisons: Sequence[Comparison]) -> None:
    """Draw horizontal bars, one panel for each target; FirmwareError where matplotlib is missing or cannot write."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise FirmwareError("--plot needs matplotlib: pip install '.[firmware]'") from None
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "firmware_check"  # the same picture for the same numbers
    from matplotlib import pyplot as plt

    panels = [_of_comparison(comparison) for comparison in comparisons] or [_of_check(check) for check in checks]
    height = sum(1.2 + _INCHES_PER_LAYER * len(labels) for _, labels, _ in panels)
    ratios = [1.2 + _INCHES_PER_LAYER * len(labels) for _, labels, _ in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(_WIDTH, height), squeeze=False, gridspec_kw={"height_ratios": ratios}
    )
    for (title, labels, series), axis in zip(panels, axes[:, 0], strict=True):
        thickness = 0.8 / len(series)
        for number, (name, values) in enumerate(series.items()):
            axis.barh([row + number * thickness for row in range(len(labels))], values, thickness, label=name)
        axis.set_yticks([row + 0.4 - thickness / 2 for row in range(len(labels))], labels, fontsize=7, parse_math=False)
        axis.invert_yaxis()
        axis.set_xlabel("instructions (not cycles)")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.set_title(printable(title), fontsize=9, parse_math=False)
        axis.legend()
    figure.tight_layout()
    try:
        figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise FirmwareError(f"{path}: {error.strerror}") from None
    plt.close(figure)


Panel = tuple[str, list[str], dict[str, list[int]]]


def _of_comparison(comparison: Comparison) -> Panel:
    before = [pair.before.instructions.counted if pair.before else 0 for pair in comparison.pairs]
    after = [pair.after.instructions.counted if pair.after else 0 for pair in comparison.pairs]
    title = f"{comparison.before.path} against {comparison.after.path}, {comparison.before.label}"
    return title, distinct(comparison.called), {"before": before, "after": after}


def _of_check(check: TargetCheck) -> Panel:
    labels = distinct([check.called(layer.label) for layer in check.layers])
    return f"{check.path}, {check.label}", labels, {"measured": [layer.instructions.counted for layer in check.layers]}
