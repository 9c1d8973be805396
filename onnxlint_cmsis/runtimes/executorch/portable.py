"""What ExecuTorch's portable kernels ask of how tensors lie in memory, and what some do not ask and get wrong.

Read in kernels/portable/cpu of releases 1.0.1 to cff6f4dd, which agree, and run in cff6f4dd on Cortex-M4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from onnxlint_cmsis.formats.pte.calls import ProgramCall
from onnxlint_cmsis.formats.pte.program_records import PteTensor, Value, ValueList
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.unchecked import moved_axes

ONE_ORDER = frozenset(
    f"aten::{name}"
    for name in (
        *("abs", "add", "addmm", "amax", "amin", "avg_pool2d", "bmm", "clamp", "constant_pad_nd", "div", "elu", "exp"),
        *("expand_copy", "gelu", "hardtanh", "leaky_relu", "log", "maximum", "mean", "minimum", "mm", "mul", "neg"),
        *("permute_copy", "pow", "relu", "rsqrt", "sigmoid", "slice_copy", "_softmax", "sqrt", "squeeze_copy", "sub"),
        *("sum", "tanh", "transpose_copy", "view_copy", "where"),
    )
)
"""Operators whose tensors have one order (tensors_have_same_dim_order)."""
ORDER_OF_SIZES = frozenset(
    f"aten::{name}"
    for name in ("addmm", "avg_pool2d", "bmm", "expand_copy", "mean", "mm", "squeeze_copy", "sum", "view_copy")
)
"""Those whose first tensor has the order of its sizes (tensor_is_default_dim_order)."""
CONVOLUTION = "aten::convolution"
"""Asks for one order of its input and its result, and of nothing else."""
LIES = "its tensors lie in another order of memory than that of their sizes, and the kernel ignores that"


def trouble(call: ProgramCall, values: Sequence[Value]) -> tuple[Outcome, str]:
    """What becomes of a call that has no kernel of the backend, and why; REFERENCE and nothing where it is computed.

    `values` are those of its method.
    """
    numbers = (*call.operands, *call.results)
    tensors = [value for value in (values[number] for number in numbers if number >= 0) if isinstance(value, PteTensor)]
    asked = [*tensors[:1], *tensors[-1:]] if call.op == CONVOLUTION else tensors
    if call.op in ONE_ORDER or call.op == CONVOLUTION:
        orders = {_order(tensor) for tensor in asked}
        if len(orders) > 1 or "" in orders:
            return Outcome.REFUSED, "its tensors lie in different orders of memory; the kernel takes one order for all"
    if call.op in ORDER_OF_SIZES and tensors and _order(tensors[0]) != "sizes":
        text = "its input lies in another order of memory than that of its sizes; the kernel takes no other"
        return Outcome.REFUSED, text
    wrong = call.op in COPIED and tensors and COPIED[call.op](tensors, _argument(call, values))
    return (Outcome.WRONG, LIES) if wrong else (Outcome.REFERENCE, "")


def _order(tensor: PteTensor) -> str:
    """`sizes` or `channels last`, the orders of memory that the runtime names; empty for another (dim_order_util.h)."""
    axes = tuple(range(len(tensor.sizes)))
    if tensor.order == axes:
        return "sizes"
    return "channels last" if len(axes) in (4, 5) and tensor.order == (0, *axes[2:], 1) else ""


def _argument(call: ProgramCall, values: Sequence[Value]) -> tuple[int, ...]:
    """Whole numbers of the second argument, which names axes or amounts."""
    value = values[call.step.args[1]] if len(call.step.args) > 1 else None
    inner = [values[number] for number in value.items if number >= 0] if isinstance(value, ValueList) else [value]
    return tuple(number for number in inner if isinstance(number, int))


def _cat(tensors: Sequence[PteTensor], axes: tuple[int, ...]) -> bool:
    """Tell whether blocks along an axis behind the first are copied in the order of sizes (op_cat.cpp)."""
    outermost = all(axis % max(len(tensors[-1].sizes), 1) == 0 for axis in axes)
    return not outermost and any(map(moved_axes, tensors))


def _pad(tensors: Sequence[PteTensor], amounts: tuple[int, ...]) -> bool:
    """Tell whether blocks are laid in the order of sizes; amounts begin with the last axis (op_constant_pad_nd.cpp)."""
    inner = amounts[: 2 * (len(tensors[0].sizes) - 1)]
    return any(inner) and any(map(moved_axes, tensors))


def _unsqueeze(tensors: Sequence[PteTensor], axes: tuple[int, ...]) -> bool:
    """Tell whether bytes are copied between tensors whose axes lie otherwise (op_unsqueeze_copy.cpp)."""
    source, result = tensors[0], tensors[-1]
    added = axes[0] % max(len(result.sizes), 1) if axes else 0
    before = tuple(axis + (axis >= added) for axis in source.order if source.sizes[axis] != 1)
    return before != tuple(axis for axis in result.order if result.sizes[axis] != 1)


COPIED: Mapping[str, Callable[[Sequence[PteTensor], tuple[int, ...]], bool]] = MappingProxyType(
    {"aten::cat": _cat, "aten::constant_pad_nd": _pad, "aten::unsqueeze_copy": _unsqueeze}
)
"""Operators that copy blocks, and whether they get a call wrong: tensors, then the second argument."""
