"""Cycles per instruction from public measurements, always as a range.

Nothing was measured on silicon here. Each row divides the cycles that a public source tells by the instructions that
this package predicts for the same net or layer with CMSIS-NN 7.0.0 and gcc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import PLACEMENTS

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import Target


WIDEST = 0.25
"""Spread of one row above which it gives no time."""


class MeasuredNet(NamedTuple):
    """One net, or one layer, that a source has cycles of."""

    name: str
    """What it is."""
    cycles: int
    """Measured cycles of one run."""
    instructions: int
    """Instructions predicted for it."""

    @property
    def ratio(self) -> float:
        """Cycles per instruction."""
        return self.cycles / self.instructions


class CycleRow(NamedTuple):
    """Cycles per predicted instruction on one CPU."""

    cpu: str
    """CPU with all its instructions: `cortex-m4`."""
    low: float
    """Cycles per instruction, at least."""
    high: float
    """Cycles per instruction, at most."""
    memory: str
    """One of PLACEMENTS that it holds for; empty where the placement of the source holds."""
    source: str
    """What was measured, in words for people."""
    address: str
    """Where the source can be read."""
    nets: tuple[MeasuredNet, ...]
    """What the range was made from; each lies in it."""
    outside: tuple[MeasuredNet, ...] = ()
    """What the source has too and the range leaves out: small parts of a net."""

    @property
    def spread(self) -> float:
        """Half the range as a share of its middle."""
        return (self.high - self.low) / (self.high + self.low)


def _nets(clock: int, *rates: tuple[str, float, int]) -> tuple[MeasuredNet, ...]:
    """Nets from inferences per second at a clock in hertz, and their predicted instructions."""
    return tuple(MeasuredNet(name, round(clock / rate), instructions) for name, rate, instructions in rates)


TINY = "https://github.com/mlcommons/tiny_results_v1."

ROWS: tuple[CycleRow, ...] = (
    CycleRow(
        "cortex-m4", 1.41, 1.79, "",
        "MLPerf Tiny v1.1 of Krai on NUCLEO-L4R5ZI, 120 MHz, microTVM",
        f"{TINY}1/tree/main/closed/Krai/results/NUCLEO-L4R5ZI_MICROTVM-CMSIS-NN",
        _nets(
            120_000_000,
            ("anomaly detection", 116.212, 578_409),
            ("image classification", 2.567, 29_715_539),
            ("keyword spotting", 10.018, 7_680_111),
            ("visual wake words", 3.324, 24_209_947),
        ),
    ),
    CycleRow(
        "cortex-m33", 1.23, 1.40, "",
        "MLPerf Tiny v1.1 of Krai on nRF5340 DK, 128 MHz, microTVM",
        f"{TINY}1/tree/main/closed/Krai/results/NRF5340-DK_MICROTVM-CMSIS-NN",
        _nets(
            128_000_000,
            ("anomaly detection", 158.957, 578_409),
            ("image classification", 3.147, 29_715_539),
            ("keyword spotting", 13.072, 7_680_111),
            ("visual wake words", 4.286, 24_209_947),
        ),
    ),
    CycleRow(
        "cortex-m55", 0.96, 1.29, "tcm",
        "AmbiqAI's kernel benchmarks of a fork of CMSIS-NN on Apollo510, 96 MHz, placement taken for TCM",
        "https://github.com/AmbiqAI/ns-cmsis-nn/blob/main/docs/guides/kernel-benchmarks.md",
        (
            MeasuredNet("convolution 3x3, 32x32x64 to 64", 7_577_201, 7_758_842),
            MeasuredNet("convolution 1x1, 32x32x64 to 64", 1_707_351, 1_647_000),
            MeasuredNet("depthwise 3x3, 32x32x64", 1_741_530, 1_356_799),
            MeasuredNet("fully connected, 512 to 256", 69_076, 64_516),
        ),
        (
            MeasuredNet("average pooling 3x3, 32x32x64", 2_135_472, 1_387_119),
            MeasuredNet("addition of 4096", 61_575, 56_344),
            MeasuredNet("multiplication of 4096", 22_647, 27_640),
        ),
    ),
    CycleRow(
        "cortex-m55", 1.16, 1.75, "sram",
        "ExecuTorch's MobileNetV2 with CMSIS-NN 7.0.0 on Alif E8, arena in SRAM, weights in MRAM",
        "https://github.com/pytorch/executorch/issues/17651",
        (
            MeasuredNet("convolution 3x3 stride 2, 224x224x3 to 32", 13_754_047, 11_252_163),
            MeasuredNet("depthwise 3x3, 112x112x32", 13_715_766, 9_719_940),
            MeasuredNet("convolution 1x1, 112x112x32 to 16", 4_915_937, 4_039_186),
            MeasuredNet("convolution 1x1, 112x112x16 to 96", 24_249_462, 20_269_115),
            MeasuredNet("depthwise 3x3 stride 2, 112x112x96", 10_286_711, 5_888_486),
            MeasuredNet("convolution 1x1, 56x56x96 to 24", 2_791_555, 2_325_542),
            MeasuredNet("convolution 1x1, 56x56x24 to 144", 10_329_014, 8_825_341),
            MeasuredNet("depthwise 3x3, 56x56x144", 15_319_785, 9_262_083),
        ),
    ),
    CycleRow(
        "cortex-m85", 0.84, 1.75, "",
        "MLPerf Tiny v1.2 of Renesas on EK-RA8D1, 480 MHz, TensorFlow Lite Micro",
        f"{TINY}2/tree/main/closed/Renesas/results/EK-RA8D1",
        _nets(
            480_000_000,
            ("anomaly detection", 1884.085, 146_372),
            ("image classification", 117.948, 4_800_750),
            ("keyword spotting", 288.611, 1_779_116),
            ("visual wake words", 74.667, 6_416_394),
        ),
    ),
)  # fmt: skip
"""Every CPU that a public source has cycles of CMSIS-NN's int8 kernels for."""


def cycle_rows(cpu: str, memory: str) -> tuple[CycleRow, ...]:
    """Rows of a CPU that a placement leaves: all of them where it is unknown."""
    return tuple(row for row in ROWS if row.cpu == cpu and (memory == PLACEMENTS[0] or row.memory in ("", memory)))


class CycleRange(NamedTuple):
    """Cycles per instruction of a target, or why there are none."""

    low: float = 0.0
    """At least."""
    high: float = 0.0
    """At most; 0 where no range is known."""
    source: str = ""
    """What was measured; with `reason`, what does not do."""
    reason: str = ""
    """Why there is no range; empty where there is one."""
    open_memory: bool = False
    """Whether a placement (`memory`) would make it narrower."""


def cycle_range(target: Target, memory: str) -> CycleRange:
    """What the rows say of a target; a CPU without DSP or MVE (`+nodsp`, `+nomve`) is none of theirs."""
    rows = cycle_rows(target.cpu, memory)
    if not rows:
        return CycleRange(reason=f"no public anchor for {target.cpu}")
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    source = "; ".join(row.source for row in rows)
    if max(row.spread for row in rows) > WIDEST:
        far = f"public figures for {target.cpu} lie too far apart, {low:.2f} to {high:.2f} cycles per instruction"
        return CycleRange(source=source, reason=f"{far} ({source})")
    return CycleRange(low, high, source, "", len({row.memory for row in rows}) > 1)
