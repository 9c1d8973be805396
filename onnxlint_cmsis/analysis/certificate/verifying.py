"""Whether two files are equal for every input: as they compute, and by the memory plans that they bring along."""

from __future__ import annotations

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.certificate.comparison import Verification, compare_lanes
from onnxlint_cmsis.analysis.certificate.facts import Certificate
from onnxlint_cmsis.analysis.certificate.operands import Operands
from onnxlint_cmsis.analysis.certificate.read_once import ReadOnce
from onnxlint_cmsis.analysis.certificate.reading import Model
from onnxlint_cmsis.analysis.certificate.stating import certificate
from onnxlint_cmsis.analysis.certificate.table import MOST_NUMBERS, Numbers
from onnxlint_cmsis.analysis.certificate.unequal import reasons
from onnxlint_cmsis.analysis.certificate.values import DAMAGED
from onnxlint_cmsis.formats.format import LoadedFile
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.formats.tflite.to_graph import LoadedTflite
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.operators.integer_functions import CURVES
from onnxlint_cmsis.runtimes.tflm.stated_plans import plan_faults

ENOUGH = 1 << 18
"""Numbers of lanes that the checker may need where nobody asked for it: models of integers need fewer, and it takes
2 seconds and 100 MB at most."""
ROW_NUMBERS = 1 << 20
"""Numbers that it may need for bands, whose rows are lanes: some 250 MB."""


class _Unread(Model):
    """A file of which nothing is to be said."""

    def __init__(self, loaded: LoadedFile) -> None:
        Operands.__init__(self, loaded, Numbers(1))
        self.loaded, self.opaque = loaded, {}


def verify(old: LoadedFile, new: LoadedFile, most: int = MOST_NUMBERS) -> Verification:
    """Hold two files against each other, and what they say of memory: with a wrong plan no output is what it says.

    `most` numbers bound time and memory. Files of the same bytes are equal, and nothing of them is read.
    """
    if same_bytes(old, new):
        faults = (None,) * max(len(new.graph.outputs), 1)
        return Verification(_Unread(old), _Unread(new), faults)
    known = compare_lanes(ReadOnce(old), ReadOnce(new), most)
    wrong = _plan_fault(new, "new") or _plan_fault(old, "old")
    return known._replace(faults=tuple(fault or wrong for fault in known.faults)) if wrong else known


def faults_elsewhere(known: Verification) -> tuple[str | None, ...]:
    """Why outputs are not known to be equal in every runtime, in order; None where they are."""
    if all(known.faults) or not (known.rounds or approximated(known)):
        return known.faults
    return compare_lanes(known.old.loaded, known.new.loaded, known.new.table.most, plain=True).faults


EXACT = frozenset({"Abs", "Ceil", "Floor", "LeakyRelu", "Neg", "Round", "Sqrt", "SQUARE"})
"""Curves of which each float has one result in IEEE 754."""


def approximated(known: Verification) -> str:
    """The first curve that runtimes approximate: otherwise behind the last whole vector; empty for none."""
    models = (model for model in (known.new, known.old) if model.values)
    read = (node for model in models for node in model.graph.nodes if node.index not in model.opaque)
    return next((node.label for node in read if (name := canonical(node)) in CURVES and name not in EXACT), "")


def same_bytes(old: LoadedFile, new: LoadedFile) -> bool:
    """Tell whether two files and the files with their values are known to have the same bytes."""
    return (told := old.digest()) is not None and told == new.digest()


def _plan_fault(loaded: LoadedFile, which: str) -> str | None:
    """What is wrong with a file's memory plan, as a clause; None where nothing is, or it has none."""
    fault = next(plan_faults(loaded.file), None) if isinstance(loaded, LoadedTflite) else None
    return f"the memory plan of the {which} file is wrong: {fault.text}" if fault else None


def certificate_of(old: ModelAnalysis, new: ModelAnalysis, most: int = ENOUGH) -> Certificate | None:
    """The certificate of two files; None where they are not known to be equal within so many numbers."""
    try:
        return certificate(verify(old.as_stored, new.as_stored, most), old.data, new.data)
    except (ModelError, RecursionError, *DAMAGED):
        return None


def why_not_equal(old: ModelAnalysis, new: ModelAnalysis) -> str | None:
    """Why outputs of two files are not known to be equal, as a clause; None where they are."""
    most = ROW_NUMBERS if isinstance(new.as_stored, LoadedTflite) else ENOUGH
    try:
        known = verify(old.as_stored, new.as_stored, most)
    except (ModelError, RecursionError, *DAMAGED) as error:
        return f"they cannot be read for it: {error}"
    return next(filter(None, reasons(known)), None)
