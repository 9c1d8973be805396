"""Calls of operators and their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Set

from onnxlint_cmsis.formats.pte.names import KEPT_BY, signature_of
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor, Step, Value, ValueList
from onnxlint_cmsis.ground.named_tuples import NamedTuple

NHWC_ORDER = (0, 2, 3, 1)
"""Axes of an image from the slowest to the fastest."""


def short_name(name: str) -> str:
    """`quantized_conv2d` of `cortex_m::quantized_conv2d.out`."""
    return name.rpartition("::")[2].partition(".")[0]


def is_channels_last(tensor: PteTensor) -> bool:
    """Tell whether ExecuTorch takes a tensor for an image with its channels last.

    As is_channels_last_tensor of backends/cortex_m/ops/cortex_m_ops_common.h.
    """
    sizes = tensor.sizes
    return len(sizes) == 4 and (sizes[1] == 1 or sizes[2] == sizes[3] == 1 or tensor.order == NHWC_ORDER)


def call_of(method: Method, method_number: int, number: int, label: str, given: Set[int]) -> ProgramCall:
    """The call of an instruction; `given` are the tensors that hold something before it.

    A kernel's arguments are those of its operator, the tensors that it writes last: once as arguments of the operator
    and once more as what it returns. A delegate's are what it reads, then what it writes.
    """
    step, values = method.steps[number], method.values
    if step.kind == "KernelCall":
        results = _tensors(method, step.args[-1:])
    else:
        results = tuple(
            index for index in _tensors(method, step.args) if index not in given and not _is_constant(values[index])
        )
    written, front = {*results, *step.args[-1:]}, [*step.args]
    if step.kind == "KernelCall":
        while front and front[-1] in written:
            front.pop()
    else:
        front = [index for index in front if index not in written]
    op = step.name.partition(".")[0] if step.kind == "KernelCall" else step.name
    signature = signature_of(op, len(front)) if step.kind == "KernelCall" else None
    names = signature.names if signature else ()
    arguments = {name: values[index] for name, index in zip(names, front, strict=False)}
    lists = {
        name: tuple(values[item] if item >= 0 else None for item in value.items)
        for name, value in arguments.items()
        if isinstance(value, ValueList)
    }
    if names:
        held = zip(names, front, strict=True)
        operands = tuple(
            index if isinstance(values[index], PteTensor) else -1
            for name, index in held
            if name not in KEPT_BY and (isinstance(values[index], PteTensor) or name == "bias")
        )
    else:
        operands = _tensors(method, front)
    first = values[results[0]] if results else None
    return ProgramCall(
        method_number, number, step, op, label, arguments, lists, len(front), operands, results,
        first if isinstance(first, PteTensor) else None,
    )  # fmt: skip


def _is_constant(value: Value) -> bool:
    return isinstance(value, PteTensor) and value.constant


def _tensors(method: Method, numbers: tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Values that are tensors, those of lists among them."""
    tensors: list[int] = []
    for number in numbers:
        value = method.values[number]
        inner = value.items if isinstance(value, ValueList) else (number,)
        tensors += [item for item in inner if item >= 0 and isinstance(method.values[item], PteTensor)]
    return tuple(tensors)


class ProgramCall(NamedTuple):
    """One call of a kernel or a delegate, its arguments by name."""

    method: int
    """Number of its method."""
    number: int
    """Number of its instruction there."""
    step: Step
    """The instruction."""
    op: str
    """Operator without its overload; a delegate by its id."""
    label: str
    """Name in messages."""
    arguments: Mapping[str, Value]
    """Arguments in front of the result by name; none for an operator whose arguments are not known."""
    lists: Mapping[str, tuple[Value, ...]]
    """Elements of those that are lists."""
    given: int
    """How many arguments stand in front of the result."""
    operands: tuple[int, ...]
    """Values that are read as tensors, -1 for one that is left out."""
    results: tuple[int, ...]
    """Values that are written."""
    written: PteTensor | None
    """First tensor that is written; None where none is."""

    def tensor(self, name: str) -> PteTensor | None:
        """An argument that is a tensor; None where it is left out."""
        value = self.arguments.get(name)
        return value if isinstance(value, PteTensor) else None

    def number_of(self, name: str, default: int = 0) -> int:
        """An argument that is a whole number."""
        value = self.arguments.get(name)
        return int(value) if isinstance(value, int) else default

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """An argument that is a list of whole numbers."""
        return tuple(value for value in self.lists.get(name, ()) if isinstance(value, int))
