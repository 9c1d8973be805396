"""A version of a model as the page takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.arena_ways import ArenaWay
    from onnxlint_cmsis.output.comparison import ModelVersion
    from onnxlint_cmsis.runtimes.memory_report import MemoryReport


MOST = 600
"""Rows, buffers and classes that one drawing shows: more make the page slow."""


class ReportInput(NamedTuple):
    """One version of a model."""

    version: ModelVersion
    """Its findings and layers."""
    model: ModelAnalysis
    """Its graph, classes and layers' verdicts."""
    memory: tuple[MemoryReport, ...]
    """What `memory` tells, for each target."""
    smaller: tuple[ArenaWay, ...] = ()
    """The model as it is and with what makes its arena smaller; none where nothing does, or nobody looked."""

    @property
    def names(self) -> Mapping[str, str]:
        """Short forms of names, for people."""
        return self.version.layers.names
