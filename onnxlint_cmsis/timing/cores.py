"""Cycles for each instruction of a kernel, by CPU and kind of kernel, and how far measured layers and nets lie off.

A kernel's factor hardly depends on its shape: over 640 shapes the 5th and 95th percentile lie within 5 % of the median.
Nothing was measured on silicon here. docs/cycles.md has each measurement beside its prediction.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple

KIB = 1024
ERROR_OF_OTHERS = 0.30
"""Part of the time by which kernels lie off of which few were measured: sums, products, softmax, s4."""

OTHER = "other"
"""Kind of every kernel that no row of KINDS names."""
CONVOLUTION_S4, DENSE_S4 = "convolution s4", "dense s4"
"""Kinds of which one kernel each was measured, on Cortex-M55 alone; elsewhere they are as OTHER."""
KINDS = (
    (CONVOLUTION_S4, "convolve_s4"),
    (CONVOLUTION_S4, "convolve_even_s4"),
    (CONVOLUTION_S4, "convolve_1x1_s4"),
    (CONVOLUTION_S4, "convolve_1_x_n_s4"),
    (DENSE_S4, "fully_connected_s4"),
    ("1x1", "_1x1_"),
    ("1xN", "_1_x_n_"),
    ("depthwise", "depthwise"),
    ("convolution", "convolve"),
    ("dense", "fully_connected"),
    ("max pool", "max_pool"),
    ("average pool", "avgpool"),
)
"""Kinds of kernels, each with a part of the names of its functions; the first row that fits counts."""


class Core(NamedTuple):
    """One CPU."""

    cpu: str
    """CPU with all its instructions: `cortex-m4`."""
    factors: Mapping[str, float]
    """Cycles for each instruction, by kind of kernel; OTHER is that of the rest."""
    error: float
    """Part of the time by which layers, and boards that took no part, lie off where both memories are known."""
    cache: int
    """Bytes of the cache that weights go through; 0 where there is none."""
    pixels: int
    """Output pixels that a convolution computes from one reading of its weights."""
    usual: tuple[tuple[str, str], ...]
    """Memories of weights and arena that it is usually built with; several where these differ."""
    sources: tuple[str, ...]
    """Addresses of what was measured."""

    def factor(self, kind: str) -> float:
        """Cycles for each instruction of a kind of kernel."""
        return self.factors.get(kind, self.factors[OTHER])

    def bounds(self, kind: str) -> tuple[float, float]:
        """Least and most cycles as parts of what the factor says."""
        error = max(self.error, ERROR_OF_OTHERS) if kind in (OTHER, CONVOLUTION_S4, DENSE_S4) else self.error
        return 1 - error, 1 + error


_TINY = "https://github.com/mlcommons/tiny_results_v"
_HELIA = "https://github.com/AmbiqAI/ns-cmsis-nn/blob/main/docs/guides/kernel-benchmarks.md"
_MICROAI = "https://github.com/DivinityQQ/MicroAI_Benchmark/tree/main/results"
_TIGRIS = "https://github.com/raws-labs/tigris-bench"

_IN_ORDER = {
    "convolution": 1.21,
    "1x1": 1.23,
    "1xN": 1.21,
    "depthwise": 1.25,
    "dense": 1.27,
    "max pool": 1.16,
    "average pool": 1.45,
    OTHER: 1.25,
}
"""Cortex-M4's table of cycles and one cycle for each taken branch, counted over 640 shapes."""
_MVE = {
    "convolution": 1.08,
    "1x1": 1.10,
    "1xN": 1.08,
    "depthwise": 1.30,
    "dense": 1.05,
    "max pool": 1.10,
    "average pool": 1.54,
    OTHER: 1.10,
}
"""Layers on Apollo510 from tightly coupled memory."""
_M7 = {
    "convolution": 0.85,
    "1x1": 0.72,
    "1xN": 0.83,
    "depthwise": 0.78,
    "dense": 0.81,
    "max pool": 0.68,
    "average pool": 0.92,
    OTHER: 0.80,
}
"""A simulator of the pipeline; two instructions may start in one cycle."""


def _times(factors: Mapping[str, float], by: float) -> dict[str, float]:
    return {kind: round(factor * by, 3) for kind, factor in factors.items()}


CORES = (
    Core(
        "cortex-m0+",
        {**_times(_IN_ORDER, 0.95), "1x1": 1.19, "depthwise": 1.14, "average pool": 1.28},
        0.14,
        16 * KIB,
        2,
        (("flash", "sram"), ("xip", "sram")),
        ("https://github.com/raspberrypi/pico-tflmicro/blob/main/benchmark_results.txt", _MICROAI),
    ),
    Core(
        "cortex-m4",
        _times(_IN_ORDER, 1.20),
        0.15,
        0,
        2,
        (("flash", "sram"),),
        (f"{_TINY}1.0/tree/main/closed/OctoML", "https://github.com/Black3rror/Benchmarking", _TIGRIS, _MICROAI),
    ),
    Core(
        "cortex-m7",
        _times(_M7, 1.02),
        0.13,
        16 * KIB,
        2,
        (("flash", "sram"), ("tcm", "tcm")),
        (_TIGRIS, _MICROAI),
    ),
    Core(
        "cortex-m33",
        _times(_IN_ORDER, 1.03),
        0.14,
        16 * KIB,
        2,
        (("flash", "sram"), ("xip", "sram")),
        (f"{_TINY}0.7/tree/main/closed/renesas", f"{_TINY}1.0/tree/main/closed/OctoML", _TIGRIS, _MICROAI),
    ),
    Core(
        "cortex-m55",
        {**_MVE, CONVOLUTION_S4: 1.41, DENSE_S4: 1.63},
        0.14,
        32 * KIB,
        4,
        (("tcm", "tcm"), ("mram", "tcm"), ("mram", "sram")),
        (_HELIA, "https://github.com/pytorch/executorch/issues/17651"),
    ),
    Core(
        "cortex-m85",
        _times(_MVE, 0.73),
        0.20,
        16 * KIB,
        4,
        (("flash", "sram"), ("tcm", "tcm")),
        (f"{_TINY}1.2/tree/main/closed/Renesas/results/EK-RA8D1",),
    ),
)  # fmt: skip
"""Every CPU that a public source has cycles of CMSIS-NN's int8 kernels for."""


def core_of(cpu: str) -> Core | None:
    """The row of a CPU; None for one without a row, and for a build without DSP or MVE (`+nodsp`, `+nomve`)."""
    return next((core for core in CORES if core.cpu == cpu), None)


def kind_of(kernel: str) -> str:
    """Kind of a function of CMSIS-NN by its name: `dense` of `arm_fully_connected_s8`."""
    return next((kind for kind, part in KINDS if part in kernel), OTHER)
