"""ExecuTorch's own code for copies, for look-ups and between float and integers: the instructions that it takes.

One number would be false: the build (-O2, -O3 or -Os, newlib or newlib-nano) and the data decide. The ranges hold all
of these. They were measured on the kernels of cff6f4dd, gcc 12.2, under QEMU on Cortex-M3, M4 and M55, and moved apart
by 8 %: tests/data/cost_executorch.jsonl.gz.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.library import COMPILER, is_measured
from onnxlint_cmsis.formats.pte.names import BACKEND
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.runtimes.interpretation import Turns, instructions_of, steps_up
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES, Runtime

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.pte.program_records import PteTensor

COSTS: dict[str, dict[Isa, Turns]] = {
    "copy": {
        Isa.SCALAR: {"byte": (0.5, 0.7), "call": (265, 660)},
        Isa.DSP: {"byte": (0.4, 0.6), "call": (272, 579)},
        Isa.MVE: {"byte": (0.46, 0.63), "call": (284, 641)},
    },
    "reorder": {
        Isa.SCALAR: {"element": (25.7, 58), "line": (14.6, 17.2), "call": (537, 947)},
        Isa.DSP: {"element": (25.7, 59), "line": (14, 16.6), "call": (577, 948)},
        Isa.MVE: {"element": (25, 61), "line": (14.2, 16.9), "call": (575, 958)},
    },
    "permute_copy": {
        Isa.SCALAR: {"element": (37, 86), "axis": (4.7, 21.9), "line": (18.2, 27), "call": (483, 1037)},
        Isa.DSP: {"element": (37, 87), "axis": (4.5, 22.2), "line": (18.4, 25.7), "call": (451, 983)},
        Isa.MVE: {"element": (46, 93.8), "axis": (0, 22.4), "line": (18.2, 24.3), "call": (511, 1022)},
    },
    "transpose_copy": {
        Isa.SCALAR: {"element": (19.3, 57), "line": (13.8, 21.6), "call": (514, 984)},
        Isa.DSP: {"element": (19.3, 61), "line": (13.8, 17.6), "call": (459, 883)},
        Isa.MVE: {"element": (18.3, 64.1), "line": (13.7, 18.4), "call": (542, 962)},
    },
    "quantize_per_tensor int8": {
        Isa.SCALAR: {"element": (47, 224), "call": (522, 695)},
        Isa.DSP: {"element": (22, 53), "call": (276, 418)},
        Isa.MVE: {"block": (41.4, 63.3), "element": (14.3, 18), "call": (402, 545)},
    },
    "quantize_per_tensor int16": {
        Isa.SCALAR: {"element": (48, 227), "call": (521, 703)},
        Isa.DSP: {"element": (23, 55), "call": (275, 400)},
        Isa.MVE: {"block": (17.5, 22.9), "element": (9.5, 17.6), "call": (407, 545)},
    },
    "dequantize_per_tensor int8": {
        Isa.SCALAR: {"element": (30, 92), "call": (424, 528)},
        Isa.DSP: {"element": (7.3, 28.2), "call": (283, 405)},
        Isa.MVE: {"block": (23.4, 30.5), "element": (6.7, 9.7), "call": (425, 575)},
    },
    "dequantize_per_tensor int16": {
        Isa.SCALAR: {"element": (60, 91), "call": (419, 557)},
        Isa.DSP: {"element": (8.2, 28.3), "call": (279, 391)},
        Isa.MVE: {"block": (14.8, 19.7), "element": (7.4, 8.8), "call": (415, 569)},
    },
    "quantized_activation": {
        Isa.SCALAR: {"element": (4.6, 6.5), "call": (239, 392)},
        Isa.DSP: {"block": (14.6, 21.6), "element": (2.7, 14.5), "call": (159, 260)},
        Isa.MVE: {"block": (11, 15.1), "element": (8.4, 10), "call": (255, 403)},
    },
}
"""Kind of code to the least and the most instructions of each turn."""
SINCE = {
    "dim_order_ops::_clone_dim_order": "1.1.0",
    "dim_order_ops::_to_dim_order_copy": "1.2.0",
    "aten::permute_copy": "1.0.1",
    "aten::transpose_copy": "1.0.1",
    "aten::clone": "1.0.1",
    f"{BACKEND}quantize_per_tensor": "1.3.0",
    f"{BACKEND}dequantize_per_tensor": "1.3.0",
    f"{BACKEND}quantized_activation": "1.4.0",
}
"""Operators and the first release whose source is that of cff6f4dd (git diff); that of 1.5.1 was not read."""
WIDTHS = {("table", Isa.DSP): 4, ("table", Isa.MVE): 16, ("int8", Isa.MVE): 16, ("int16", Isa.MVE): 8}
"""Elements that a loop takes at once, by what it reads or makes (backends/cortex_m/ops, of the same names)."""
OTHER_CPUS = ("cortex-m0", "cortex-m0+", "cortex-m7", "cortex-m23", "cortex-m33", "cortex-m35p")
"""CPUs that were not measured. gcc makes other code for Cortex-M7 and M33 than for M4: loops of this kind, those of
TensorFlow Lite Micro, take up to 58 % less or 38 % more on M7."""
COPIED = ("int8", "int16", "int32", "float32")
"""Types of the copies that were measured."""


def own_range(
    op: str, source: PteTensor, result: PteTensor, target: Target, runtime: Runtime
) -> tuple[int, int] | None:
    """Least and most instructions of a call of ExecuTorch's own code.

    None for an operator, a revision, a compiler, a CPU or types that were not measured, and for sizes that are decided
    when it runs.
    """
    if op not in SINCE or runtime.unread or runtime.since < EXECUTORCH_RELEASES[SINCE[op]].since:
        return None
    other = "+" in target.cpu or target.cpu in OTHER_CPUS  # a core without an extension runs other loops
    measured = is_measured(target) and not other and target.compiler == COMPILER
    if not measured or source.dynamic or result.dynamic:
        return None
    name, elements = op.rpartition("::")[2], prod(result.sizes)
    between, width = name.endswith("quantize_per_tensor"), 1
    if between:
        integers = result.elem_type if name.startswith("q") else source.elem_type
        kind, width = f"{name} {integers}", WIDTHS.get((integers, target.isa), 1)
    elif name == "quantized_activation":
        kind, width = name, WIDTHS.get(("table", target.isa), 1)
    elif source.elem_type != result.elem_type or source.elem_type not in COPIED:
        return None
    elif name in ("permute_copy", "transpose_copy"):
        kind = name
    else:
        same = source.order == result.order and name != "_to_dim_order_copy"
        kind = "copy" if same else "reorder"
    if kind not in COSTS or not elements:
        return None
    loops = [size for size in result.sizes if size != 1 or kind != "transpose_copy"]
    counts = {
        "byte": result.bytes,
        "block": elements // width,
        "element": elements % width if width > 1 else elements,
        "axis": elements * len(result.sizes),
        "line": steps_up(loops),
        "call": 1,
    }
    return instructions_of(COSTS[kind][target.isa], counts)
