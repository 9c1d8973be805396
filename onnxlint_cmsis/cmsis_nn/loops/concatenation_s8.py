"""Loops of concatenations (ConcatenationFunctions/arm_concatenation_s8_[wxyz].c)."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from onnxlint_cmsis.cmsis_nn.loops.memory import block, copy_in_c, library_copy
from onnxlint_cmsis.cmsis_nn.loops.pad_s8 import alignments
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def concatenation_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """A call for each operand, which copies run by run; those alike in length and alignment cost the same."""
    copy, row = copy_in_c if sizes.aligned else library_copy, sum(sizes.runs)
    rows = sizes.out_n * sizes.out_h * sizes.out_w * sizes.out_c // row
    counts: Counts = {"concatenation": len(sizes.runs), "concatenation.run": len(sizes.runs) * rows}
    firsts = (begin % 4 for begin in accumulate(sizes.runs, initial=0))
    for (run, first), alike in Counter(zip(sizes.runs, firsts, strict=False)).items():
        if isa is Isa.MVE:
            add(counts, block(isa, "concatenation.copy", rows, run), alike)
            continue
        for times, start, source in alignments(((rows, row, run),)):
            add(counts, copy("concatenation.copy", times, run, source, first + start), alike)
    return counts
