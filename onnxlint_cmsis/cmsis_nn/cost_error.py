"""By how much a prediction of instructions may be off: one row for each family of kernels.

docs/cost.md prints these rows, and the firmware check judges by them what it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from onnxlint_cmsis.cmsis_nn.compilers import GCC_12, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost_records import ALIGNED, CPUS, INTEGER_CPUS, float_build, integer_build
from onnxlint_cmsis.cmsis_nn.kernel_loops import MEASURED
from onnxlint_cmsis.cmsis_nn.loops.without_bias import KERNELS as WITHOUT_BIAS
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import WEIGHTED, Function, Isa, KernelCall, Target


class FamilyError(NamedTuple):
    """Errors of a family of kernels in percent, beside the instructions of `least_error`."""

    layers: str
    """What the kernels compute, for the page."""
    kernels: tuple[str, ...]
    """First parts of their names."""
    types: tuple[str, ...] = ("",)
    """Parts of their names that tell types; any of them where one is empty."""
    gcc: int = 0
    """The most on Cortex-M3, M4 and M55 with gcc, over all measured shapes and nets."""
    small: int = 0
    """The most on Cortex-M0, M0+ and M23."""
    clang: int = 0
    """The most on Cortex-M4 and M55 with clang."""
    other: int = 0
    """The most on a CPU that has the numbers of another one."""
    apart: Mapping[str, str] = {}
    """CPU to the median error and that of 95 in 100, of shapes that no fit saw, in the worst release."""
    channels: int = 0
    """Input channels up to which it holds; 0 for any number."""

    def has(self, kernel: str, channels: int | None) -> bool:
        """Tell whether a kernel of so many input channels, None where unknown, is of this family."""
        if self.channels and (channels is None or channels > self.channels):
            return False
        return kernel.startswith(self.kernels) and any(word in kernel for word in self.types)


NARROW = ("_s16", "_s4")
_ORDER = ("cortex-m0", "cortex-m23", "cortex-m3", "cortex-m4", "cortex-m55")


def _apart(*errors: str) -> Mapping[str, str]:
    return dict(zip(_ORDER, errors, strict=True))


FAMILIES = (
    FamilyError("transposed convolution", ("arm_transpose_conv",), gcc=2, small=2, clang=5, other=5),
    FamilyError("convolution of 16 bits, 4 bits", ("arm_convolve",), NARROW, gcc=2, small=2, clang=7, other=5),
    FamilyError(
        "convolution",
        ("arm_convolve",),
        gcc=3,
        small=4,
        clang=2,
        other=4,
        apart=_apart("0.06 / 0.52", "0.06 / 0.53", "0.02 / 0.10", "0.03 / 0.14", "0.08 / 0.36"),
    ),
    FamilyError("depthwise of 16 bits", ("arm_depthwise_conv",), ("_s16",), gcc=3, small=6, clang=3, other=7),
    FamilyError("depthwise of 4 bits", ("arm_depthwise_conv",), ("_s4",), gcc=3, small=6, clang=7, other=7),
    FamilyError(
        "depthwise",
        ("arm_depthwise_conv", "depthwise_conv"),
        gcc=4,
        small=2,
        clang=9,
        other=5,
        apart=_apart("0.04 / 0.19", "0.04 / 0.19", "0.01 / 0.04", "0.01 / 0.14", "0.02 / 0.27"),
    ),
    FamilyError(
        "fully connected",
        ("arm_fully_connected",),
        gcc=1,
        small=1,
        clang=1,
        other=1,
        apart=_apart("0.12 / 0.85", "0.05 / 0.21", "0.04 / 0.26", "0.16 / 0.58", "0.11 / 0.57"),
    ),
    FamilyError("average pooling of 16 bits", ("arm_avgpool",), NARROW, gcc=1, small=6, clang=7, other=1),
    FamilyError(
        "average pooling",
        ("arm_avgpool",),
        gcc=1,
        small=8,
        clang=5,
        other=1,
        apart=_apart("0.75 / 2.4", "0.01 / 0.04", "0.01 / 0.05", "0.02 / 0.04", "0.02 / 0.08"),
    ),
    FamilyError("maximum pooling of 16 bits", ("arm_max_pool",), NARROW, gcc=1, small=2, clang=7, other=2),
    FamilyError(
        "maximum pooling of 1 to 3 channels", ("arm_max_pool_s8",), gcc=14, small=28, clang=38, other=14, channels=3
    ),
    FamilyError(
        "maximum pooling",
        ("arm_max_pool",),
        gcc=5,
        small=16,
        clang=11,
        other=6,
        apart=_apart("0.18 / 1.5", "0.19 / 1.6", "0.10 / 0.70", "0.06 / 0.61", "0.02 / 0.07"),
    ),
    FamilyError(
        "addition, multiplication",
        ("arm_elementwise",),
        gcc=2,
        small=3,
        clang=2,
        other=4,
        apart=_apart("0.01 / 0.03", "0.01 / 0.03", "0.02 / 0.05", "0.02 / 0.06", "0.06 / 0.16"),
    ),
    FamilyError(
        "softmax",
        ("arm_softmax",),
        gcc=1,
        small=1,
        clang=1,
        other=19,
        apart=_apart("1.7 / 18", "1.7 / 18", "1.8 / 19", "1.8 / 19", "1.4 / 16"),
    ),
    FamilyError("LSTM", ("arm_lstm",), gcc=9, small=6, clang=10, other=9),
    FamilyError("SVDF, pad", ("arm_svdf", "arm_pad"), gcc=1, small=2, clang=1, other=5),
    FamilyError("minimum, maximum", ("arm_minimum", "arm_maximum"), gcc=1, small=1, clang=2, other=1),
    FamilyError("transpose", ("arm_transpose",), gcc=1, small=3, clang=1, other=1),
    FamilyError("product of matrices", ("arm_batch_matmul",), gcc=3, small=2, clang=3, other=5),
    FamilyError("concatenation", ("arm_concatenation",), gcc=1, small=3, clang=3, other=5),
)
"""The first row that has a kernel holds. Nets show more than single calls with random numbers where the data decide:
requantization branches on the sign of its values, and Cortex-M0 divides the sums of pools in software. The fit of
maximum pooling saw two calls of fewer than 4 channels, and memcpy copies a pixel of 6 or 10 by words or by bytes, as
its addresses are aligned."""
LEAST = 500
"""Instructions of any call that no percentage is asked of."""
LEAST_SMALL = 1000
"""The same on Cortex-M0, M0+ and M23, which take two to three times as many."""
NO_BIAS = 6
"""Percent for a layer without a bias that has the number of one with a bias."""
DILATED = 12
"""Percent for a dilated depthwise layer on Cortex-M0 and M0+, which divide in software for each output."""
ZERO = 16
"""Instructions that an output of a channel whose weights are all zero takes less: requantization branches on values."""
REFERENCE_OTHER = 10
"""Percent for reference code of the application on a CPU that has the range of another one."""
FLOATS, SOFT_FLOATS = 17, 27
"""Percent for f32 and f16: with a floating-point unit, and where software computes and the number is a range."""


class DocumentedError(NamedTuple):
    """What a prediction of one call may be off by."""

    percent: int
    """Percent of what is predicted."""
    least: int
    """Instructions beside these."""

    def of(self, instructions: int) -> int:
        """Instructions that a prediction of so many may be off by."""
        return ceil(instructions * self.percent / 100) + self.least

    def __str__(self) -> str:
        return f"{self.percent} % and {self.least:,} instructions"


def documented_error(call: KernelCall, target: Target, taken: Route) -> DocumentedError:
    """What the prediction of a call may be off by where its cost is known."""
    if call.floating is not None:
        soft = float_build(target).isa is Isa.SCALAR
        return DocumentedError(SOFT_FLOATS if soft else FLOATS, LEAST_SMALL if soft else LEAST)
    row = next(row for row in FAMILIES if row.has(taken.effective, call.input_dims.c))
    small, other = target.cpu in INTEGER_CPUS, has_numbers_of_another(target)
    gcc = row.small if small else row.gcc
    compilers = measured_compilers(target)
    percent = max(gcc if compiler.name == GCC_12.name else row.clang for compiler in compilers) if compilers else gcc
    biased = call.bias or call.function not in WEIGHTED
    dilated = call.function is Function.DEPTHWISE and call.dilation != (1, 1)
    divides = dilated and integer_build(target).cpu == ALIGNED[0]
    known = biased or (taken.effective in WITHOUT_BIAS and holds(MEASURED, "", target.release))
    beside = (row.other * other, NO_BIAS * (not known), DILATED * divides)
    return DocumentedError(max(percent, *beside), LEAST_SMALL if small else LEAST)


def has_numbers_of_another(target: Target) -> bool:
    """Tell whether functions for integers have the numbers of another CPU that does not run the same code."""
    return target.cpu not in INTEGER_CPUS and target.cpu not in (*CPUS.values(), target.isa.value)


def reference_error(target: Target) -> DocumentedError:
    """What reference code of the application may lie outside of its range, where it has one."""
    return DocumentedError(REFERENCE_OTHER * has_numbers_of_another(target), LEAST)
