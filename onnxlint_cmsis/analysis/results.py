"""What linting and fixing tell of one file, as plain data for every reporter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.findings import UNSAFELY, Finding, PythonPlace
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.analysis.verdict import TargetVerdict
    from onnxlint_cmsis.ground.types import Level
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


class LayerShare(NamedTuple):
    """The layers of one verdict on one target."""

    layers: int
    """How many."""
    macs: int
    """Their multiply-accumulates, as far as these are known."""
    nodes: tuple[str, ...]
    """Their nodes; none for CMSIS-NN, whose are the rest."""


class TargetSummary(NamedTuple):
    """A model on one target."""

    target: str
    """Label."""
    cmsis_nn: LayerShare
    """Layers that functions of CMSIS-NN compute."""
    reference_code: LayerShare
    """Layers that reference code computes; a range of its instructions is known at most."""
    no_kernel: LayerShare
    """Layers that no kernel is known to compute, or that the runtime refuses."""
    undecided: LayerShare
    """Layers that a size leaves open."""
    instructions: int
    """Predicted instructions (not cycles) of the layers whose cost is one number."""
    measured_on: str
    """Build that the instructions were measured on."""
    unknown_cost: int
    """Layers with neither a number nor a range, which the instructions leave out."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts, as far as sizes are known."""
    flash: int
    """Bytes that lie in flash beside code: the constants, of a file that a runtime reads on the device the file."""
    scratch: int | None
    """Bytes of the largest scratch buffer, as far as sizes are known; None where the runtime asks for unknown ones."""
    arena_used: int | None = None
    """Bytes of the runtime's arena, to the byte; None where the file does not tell."""
    arena_needed: int | None = None
    """Bytes that have to be given for it."""
    arena_to_write: int | None = None
    """Bytes to declare for it, with the runtime's alignment."""
    time: PredictedTime | None = None
    """What a run takes at the target's clock; None where no clock is given."""
    instructions_range: tuple[int, int] | None = None
    """Least and most instructions, those of layers and copies with a range among them; None where none has a range."""
    cmsis_nn_share: tuple[float, float] | None = None
    """Least and most part of the instructions that CMSIS-NN retires; None where no other code is known to run, or where
    the cost of a layer is not known."""
    layer_times: tuple[tuple[str, PredictedTime], ...] = ()
    """Labels of nodes with what each takes in a run; none where no clock is given."""

    @property
    def layers(self) -> int:
        """How many layers compute something in each run."""
        return sum(share.layers for share in (self.cmsis_nn, self.reference_code, self.no_kernel, self.undecided))

    @property
    def refused(self) -> LayerShare:
        """The same as `no_kernel`, under the name that programs know."""
        return self.no_kernel

    @property
    def cost_known(self) -> bool:
        """Tell whether the cost of a layer is known, or there is no layer."""
        return not self.unknown_cost or self.unknown_cost < self.layers


class FileSummary(NamedTuple):
    """A model on all its targets."""

    targets: tuple[TargetSummary, ...]
    """Each target."""
    macs: int
    """Multiply-accumulates of all layers, as far as these are known."""
    unknown_macs: int
    """Layers whose multiply-accumulates are not known."""
    arena: int | None
    """Bytes of activations, at least: other runtimes lay them out in more. None where a size is unknown."""
    copies: tuple[str, ...] = ()
    """Copies between memory orders that the application makes, and for which no node stands."""


NOT_ANALYSED = FileSummary((), 0, 0, None)
"""The summary of a file that was not analysed."""


class FileResult(NamedTuple):
    """One file of a run."""

    path: str
    """The file as the user named it; reporters get it relative to the working directory where it is below it."""
    findings: tuple[Finding, ...]
    """Findings in file order, after selection and suppression; reporters get those that are to be shown."""
    fail_on: Level
    """Lowest level that fails the run for this file."""
    readable: bool = True
    """False where there was no model to analyse."""
    notes: tuple[str, ...] = ()
    """How the file was read, such as `analysed as the int8 model it will become`."""
    statistics: tuple[tuple[str, int], ...] = ()
    """Counts of the analysis, by name: nodes, layers, suppressed findings."""
    error: str = ""
    """Internal error that ended the analysis of the file, in one line."""
    model: bool = True
    """False for a configuration or baseline file that findings are about."""
    fix: FixResult | None = None
    """What came of fixing it; None where no fix was asked for."""
    skipped: tuple[str, ...] = ()
    """Codes of rules that did not run because the model is too large for them."""
    summary: FileSummary = NOT_ANALYSED
    """What the model is and needs as a whole; without targets where it was not analysed."""
    verdicts: tuple[TargetVerdict, ...] = ()
    """Whether it runs on each target, and is right, whichever findings are shown; none for a file that is no model."""
    hidden: tuple[Finding, ...] = ()
    """Findings below the level that is shown."""
    names: Mapping[str, str] = {}
    """Short forms of names in the model, for people; only names that have one."""
    places: Mapping[str, PythonPlace] = {}
    """Where in a PyTorch program layers were written, by label."""
    matches: Mapping[str, int] = {}
    """Findings that each suppression of the configuration accepts here, by where it is written."""
    unfetched: bool = False
    """Whether constants lie in files beside a model that is no local file; they were not fetched."""
    left_out: tuple[str, ...] = ()
    """Those of the notes that say which checks did not run, or not to their end."""
    application: tuple[str, ...] = ()
    """Lines of C++ for an application of TensorFlow Lite Micro, where a board is named."""
    line: int = 1
    """Line of a C file on which the array begins that holds the model; 1 for a file of its own."""
    firmware: str = ""
    """Image that has the bytes of the model file; empty where none is named, or it has others."""

    @property
    def verdict(self) -> str:
        """The word of the worst verdict; empty for a file that is no model."""
        from onnxlint_cmsis.analysis.verdict_text import rank

        return min(self.verdicts, key=lambda verdict: rank([verdict])).word if self.verdicts else ""

    @property
    def told(self) -> tuple[Finding, ...]:
        """All findings, those below the level that is shown too."""
        return (*self.findings, *self.hidden)

    @property
    def fixable(self) -> int:
        """How many of them a fix would answer."""
        return sum(bool(finding.properties.get("fixable")) for finding in self.told)

    @property
    def fixable_unsafely(self) -> int:
        """How many more it would answer with --unsafe-fixes."""
        return sum(bool(finding.properties.get(UNSAFELY)) for finding in self.told)
