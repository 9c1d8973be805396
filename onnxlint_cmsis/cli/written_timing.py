"""`layers --measured LOG`: the timing of a board is written, and held against an earlier one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.config.calibrations import read_calibration
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.atomic_write import write_text
from onnxlint_cmsis.ground.errors import UsageError

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel
    from onnxlint_cmsis.analysis.measured_timing import Agreement
    from onnxlint_cmsis.timing.calibration import Calibration


def timing_text(path: str, log: str, model: ModelAnalysis, measured: MeasuredModel | None) -> str:
    """What the log says of the board, written to `path` where one is given; empty without either. Raises UsageError.

    The timing in the settings, or the one that `path` holds, is held against the log.
    """
    earlier = model.settings.calibration
    if not path and (measured is None or earlier is None):
        return ""
    if measured is None:
        raise UsageError("--write-timing is for --measured: name a log")
    from onnxlint_cmsis.analysis.measured_timing import measured_work
    from onnxlint_cmsis.timing.calibration import TimingError

    option = "--write-timing" if path else "timing"
    for other in (file_of(model.path), log) if path else ():
        if os.path.realpath(path) == os.path.realpath(other):
            raise UsageError(f"--write-timing {path} is the model or the log: name another file")
    source = ", ".join("".join(filter(str.isprintable, Path(name).name))[:90] for name in (model.path, log))
    try:
        work = measured_work(model, model.settings.targets[0], measured)
        written = work.fitted(source) if path else None
        before = earlier or _written_before(path)
        told = [_agreement_text(work.against(before))] if before and before.source != source else []
    except TimingError as error:
        raise UsageError(f"{option}: {error.args[0]}") from None
    if written is not None:
        try:
            write_text(path, written.text())
        except OSError as error:
            raise UsageError(f"--write-timing: {path}: {error.strerror}") from None
        off = f"±{100 * written.error:.0f} %"
        told += [f"Written: {path}. Other models on this board: {off}; use it with --timing {path}."]
    return " ".join(told)


def _written_before(path: str) -> Calibration | None:
    """The timing that a file holds before it is written over; None where it holds none."""
    try:
        return read_calibration(path) if Path(path).exists() else None
    except UsageError:
        return None


def _agreement_text(agreement: Agreement) -> str:
    earlier, said, measured = agreement
    off = f"{round(100 * (said / measured - 1)):+d} %, {'within' if agreement.kept else 'more than'} the "
    text = f"{earlier.source} says {said:,.3g} ms for what the log measured as {measured:,.3g} ms: {off}"
    promised = f"±{100 * earlier.error:.0f} % that it promised"
    if agreement.kept:
        return f"{text}{promised}."
    return (
        f"{text}{promised}. The two measurements disagree: they are of different builds, boards or memories, or one of "
        "them has more than the model in it."
    )
