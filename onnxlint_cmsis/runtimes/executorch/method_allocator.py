"""Bytes that ExecuTorch takes of its method allocator to load a method, on a core of 32 bits.

runtime/executor/method.cpp (Method::init, parse_values, gen_instruction_arguments), tensor_parser_portable.cpp
(parseTensor) and tensor_parser_exec_aten.cpp (parseTensorList), cff6f4dd and the tags of releases. Sizes are `sizeof`
of arm-none-eabi-g++ 12.2. The loaders of 1.0.1 to 1.4.1 and of cff6f4dd ran on an emulated Cortex-M4: each took as many
bytes for 361 programs.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor, Step, Value, ValueList
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.memory_report import MethodMemory
from onnxlint_cmsis.runtimes.runtime import Runtime

Request = tuple[int, int]
"""Bytes and alignment of one request."""

POINTER = 4
"""`EValue*`, `Tensor`, `OpFunction`, and one element of sizes and strides (SizesType, StridesType)."""
PAIR = 8
"""InstructionArgs, which is a Span: a pointer and a length; `std::optional<Tensor>` and `int64_t` are as large."""
TENSOR_IMPL, CHAIN = 32, 16
TENSOR_META, MAX_DIMS = 12, 16
"""What resolve_operator takes for an argument: a TensorMeta, and kTensorDimensionLimit bytes for an order of axes."""
ALIGNED = 8
"""Alignment of `int64_t` and `EValue`, and what the memory's start is taken to be a multiple of."""


class Layout(NamedTuple):
    """Sizes that differ between releases, in bytes."""

    value: int
    """EValue."""
    boxed: int
    """BoxedEvalueList of a list of numbers or tensors; 0 where it lies in the EValue."""
    view: int
    """ArrayRef of a text or a list that is read in the file; 0 where it lies in the EValue."""
    delegate: int
    """Alignment of BackendDelegate, whose list is asked for where it is empty, too."""


SMALL_SINCE = "1.1.0"
"""First release whose EValue holds lists by pointers (runtime/core/evalue.h)."""
LARGE, SMALL = Layout(24, 0, 0, POINTER), Layout(16, 12, PAIR, ALIGNED)


def method_memory(method: Method, runtime: Runtime) -> MethodMemory:
    """What loading takes of a method allocator, beside a temporary allocator that is large enough.

    Nothing is told of a release whose loader was not read, nor where a delegate or a file of constants decides.
    """
    if runtime.unread:
        return MethodMemory(reason=f"the loader of ExecuTorch {runtime.commit} was not read")
    if method.delegates:
        return MethodMemory(reason=f"the delegate {method.delegates[0]} takes what it wants of it")
    if any(isinstance(value, PteTensor) and value.external for value in method.values):
        return MethodMemory(reason="constants lie in another file, whose reader decides")
    layout, end = SMALL if runtime.since >= RELEASES[SMALL_SINCE] else LARGE, 0
    for size, alignment in _requests(method, layout):
        end += -end % alignment + size
    most = max((len(step.args) for step in method.steps if step.kind == "KernelCall"), default=0)
    return MethodMemory(end, most * (TENSOR_META + MAX_DIMS))


def _requests(method: Method, layout: Layout) -> Iterator[Request]:
    """Requests in the order in which they are made."""
    yield len(method.values) * layout.value, ALIGNED
    yield len(method.inputs), 1
    for value in method.values:
        yield from _of_value(value, layout)
    yield 0, layout.delegate
    yield len(method.chains) * CHAIN, POINTER
    steps = iter(method.steps)
    for count in method.chains:
        yield count * POINTER, POINTER
        yield count * PAIR, POINTER
        for _ in range(count):
            yield _arguments(next(steps))


def _arguments(step: Step) -> Request:
    """The list of a call's arguments; other instructions have none."""
    return (len(step.args) * POINTER if step.kind in ("KernelCall", "DelegateCall") else 0), POINTER


def _of_value(value: Value, layout: Layout) -> Iterator[Request]:
    """What one value takes beside its EValue."""
    if isinstance(value, PteTensor):
        axes = len(value.sizes)
        if value.dynamic:
            yield axes * POINTER, POINTER
            yield axes, 1
        yield axes * POINTER, POINTER
        yield TENSOR_IMPL, POINTER
    elif isinstance(value, ValueList):
        count = len(value.items)
        yield count * POINTER, POINTER
        yield {
            "IntList": (count * PAIR, ALIGNED),
            "TensorList": (count * POINTER, POINTER),
            "OptionalTensorList": (count * PAIR, POINTER),
        }[value.kind]
        yield layout.boxed, POINTER if layout.boxed else 1
    elif isinstance(value, (str, tuple)):
        yield layout.view, POINTER if layout.view else 1
