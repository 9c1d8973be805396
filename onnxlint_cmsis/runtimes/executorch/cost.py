"""ExecuTorch's own code for copies, for look-ups and between float and integers: the instructions that it takes.

One number would be false: the build (-O2, -O3 or -Os, newlib or newlib-nano) and the data decide. The ranges hold all
of these. They are in own_instructions.json, which lab/fit_executorch.py makes: the kernels of cff6f4dd, gcc 12.2, under
QEMU (tests/data/cost_executorch.jsonl.gz).
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.pte.names import BACKEND
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.runtimes.interpretation import instructions_of, steps_up
from onnxlint_cmsis.runtimes.measured_cores import core_of, instruction_table
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES, Runtime

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.pte.program_records import PteTensor

INSTRUCTIONS = Path(__file__).with_name("own_instructions.json")
"""Kind of code and core to the least and the most instructions of each turn. A core that names another one has the
same."""
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
COPIED = ("int8", "int16", "int32", "float32")
"""Types of the copies that were measured."""


def turns_of(op: str, source: PteTensor, result: PteTensor, isa: Isa) -> tuple[str, dict[str, int]] | None:
    """Kind of a call's code, and how often each of its parts runs; None for types that were not measured."""
    name, elements = op.rpartition("::")[2], prod(result.sizes)
    width = 1
    if name.endswith("quantize_per_tensor"):
        integers = result.elem_type if name.startswith("q") else source.elem_type
        kind, width = f"{name} {integers}", WIDTHS.get((integers, isa), 1)
    elif name == "quantized_activation":
        kind, width = name, WIDTHS.get(("table", isa), 1)
    elif source.elem_type != result.elem_type or source.elem_type not in COPIED:
        return None
    elif name in ("permute_copy", "transpose_copy"):
        kind = name
    else:
        same = source.order == result.order and name != "_to_dim_order_copy"
        kind = "copy" if same else "reorder"
    if not elements:
        return None
    rank = len(result.sizes)
    line = steps_up([size for size in result.sizes if size != 1 or kind != "transpose_copy"])
    moved = {
        "copy": {"byte": result.bytes, "dimension": rank},
        "reorder": {"element": elements, "line": line, "dimension": rank},
        "permute_copy": {"element": elements, "axis": elements * rank, "line": line, "dimension": rank},
        "transpose_copy": {"element": elements, "line": line, "dimension": rank},
    }
    blocks = {"block": elements // width, "element": elements % width} if width > 1 else {"element": elements}
    return kind, {**moved.get(kind, blocks), "call": 1}


def own_range(
    op: str, source: PteTensor, result: PteTensor, target: Target, runtime: Runtime
) -> tuple[int, int] | None:
    """Least and most instructions of a call of ExecuTorch's own code.

    None for an operator, a revision, a compiler, a CPU or types that were not measured, and for sizes that are decided
    when it runs.
    """
    if op not in SINCE or runtime.unread or runtime.since < EXECUTORCH_RELEASES[SINCE[op]].since:
        return None
    turns = None if source.dynamic or result.dynamic else turns_of(op, source, result, target.isa)
    if turns is None:
        return None
    kind, counts = turns
    floating = kind.startswith(("quantize_", "dequantize_"))
    costs = instruction_table(INSTRUCTIONS)["kernels"].get(kind, {}).get(core_of(target, floating=floating))
    return instructions_of(costs, counts) if costs else None
