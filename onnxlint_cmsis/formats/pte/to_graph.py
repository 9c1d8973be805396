"""`load_pte`: a `.pte` file, or the program in a `.bpte` file, to a Graph.

A call of a kernel or a delegate is a node; an operator stays what ExecuTorch calls it, without its overload. Tensors
have their sizes in the order of memory. Tensors that are one in memory, as before and behind a view that the exporter
left out, are one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from os import PathLike
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.pte.bounds import FIX_THE_SIZES, refuse_other_sizes, sizes_left_open
from onnxlint_cmsis.formats.pte.calls import NHWC_ORDER, ProgramCall, call_of, is_channels_last, short_name
from onnxlint_cmsis.formats.pte.names import EXECUTORCH, NHWC
from onnxlint_cmsis.formats.pte.program import read_program
from onnxlint_cmsis.formats.pte.program_records import Method, Program, PteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size, fits_an_array
from onnxlint_cmsis.model.graph import Attribute, Constant, Graph, Node, Problem, Tensor
from onnxlint_cmsis.model.leftovers import Left, Leftovers
from onnxlint_cmsis.model.made_up_names import unlike

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGE_OPERATORS = ("2d",)
"""What the names of operators on images end in: their tensors have the sizes of NCHW and lie in NHWC."""


class LoadedProgram(NamedTuple):
    """A file, its graph and its calls."""

    program: Program
    """The file as plain data."""
    graph: Graph
    """Nodes, tensors and constants."""
    calls: tuple[ProgramCall, ...]
    """The call of each node, in their order."""
    constants: Mapping[str, PteTensor]
    """Constants by their key in the graph."""
    keys: Mapping[tuple[int, int], str]
    """Key of each tensor in the graph, by the numbers of its method and value."""
    views: Mapping[tuple[int, int], PteTensor]
    """What a call wrote, of a tensor that has its bytes without a call in between, by the same numbers."""

    def digest(self) -> bytes | None:
        """SHA-256 of the file; None where values lie in another one, which the program does not name."""
        import hashlib

        outside = any(tensor.external for tensor in self.constants.values())
        return None if outside else hashlib.sha256(self.program.data).digest()

    def reader(self) -> Callable[[str], NDArray[Any] | None]:
        """A way to read the constants by their key in the graph, as they are stored.

        None for what is no constant, for other types than numbers, and for values in another file.
        """
        import numpy as np

        def read(key: str) -> NDArray[Any] | None:
            tensor = self.constants.get(key)
            try:
                kind = np.dtype(tensor.elem_type if tensor else "").newbyteorder("<")
            except TypeError:
                return None
            if tensor is None or tensor.data is None or kind.kind not in "fiub" or not fits_an_array(tensor.shape):
                return None
            values = np.frombuffer(self.program.bytes_of(tensor), kind)
            return values.astype(kind.newbyteorder("=")).reshape(tensor.shape)

        return read

    def leftovers(self) -> Leftovers:
        """All of the file: nobody compares what programs compute."""
        return Leftovers(file=(Left("a program of ExecuTorch, which equals its own bytes alone", None),))

    def computed_sizes(self) -> Mapping[str, tuple[int, ...]]:
        """None: sizes are those that the program states."""
        return {}


def load_pte(
    path: str | PathLike[str],
    *,
    input_shapes: Mapping[str, tuple[Size, ...]] | None = None,
    data: Buffer | None = None,
) -> LoadedProgram:
    """Read a file, or `data` in its place (`path` is then its name), as a Graph; weights are not read.

    Sizes that are decided at run time are the largest ones; `input_shapes` that say the same settle them.

    Raises ModelError with kind `unreadable`, `lfs-pointer`, `not-a-model`, or `input-shape` for a name or sizes that
    the program does not have.
    """
    given = input_shapes or {}
    builder = _Builder(read_program(path, data), given)
    for number, method in enumerate(builder.program.methods):
        builder.add(number, method)
    loaded = builder.loaded()
    refuse_other_sizes({key: loaded.graph.tensors[key].shape or () for key in loaded.graph.inputs}, given)
    return loaded


class _MethodState(NamedTuple):
    number: int
    """Number of the method."""
    method: Method
    """The method."""
    inputs: Mapping[int, int]
    """Its inputs: place among them by value."""
    images: Set[int]
    """Values that its kernels take for images."""
    lying: dict[tuple[int, int, int], tuple[str, PteTensor]]
    """Key and tensor that was written last to each planned buffer, first byte and number of bytes."""


class _Builder:
    """Nodes and tensors of all methods, one after the other."""

    def __init__(self, program: Program, given: Mapping[str, tuple[Size, ...]]) -> None:
        self.program, self.given = program, given
        self.nodes: list[Node] = []
        self.calls: list[ProgramCall] = []
        self.tensors: dict[str, Tensor] = {}
        self.constants: dict[str, PteTensor] = {}
        self.keys: dict[tuple[int, int], str] = {}
        self.views: dict[tuple[int, int], PteTensor] = {}
        self.taken: set[str] = set()
        self.ends: tuple[list[str], list[str]] = ([], [])
        self.problems: list[Problem] = []

    def add(self, number: int, method: Method) -> None:
        """A method's calls and tensors."""
        front = f"{method.name}:" if number else ""
        given = {value for value in method.inputs if isinstance(method.values[value], PteTensor)}
        calls = []
        for index, step in enumerate(method.steps):
            if step.kind in ("KernelCall", "DelegateCall"):
                calls.append(call_of(method, number, index, f"{front}{short_name(step.name)}#{index}", given))
                given.update(calls[-1].results)
        images = {
            value
            for call in calls
            if call.op.removesuffix(NHWC).endswith(IMAGE_OPERATORS) and not call.op.endswith(NHWC)
            for value in (*call.operands[:1], *call.results)
        }
        indices = {value: index for index, value in reversed([*enumerate(method.inputs)])}
        state = _MethodState(number, method, indices, images, {})
        for value in method.inputs:
            self._tensor(state, value)
        for call in calls:
            inputs = tuple(self._tensor(state, value) if value >= 0 else "" for value in call.operands)
            outputs = tuple(self._tensor(state, value, new=True) for value in call.results)
            self._node(call, inputs, outputs)
        for end, values in enumerate((method.inputs, method.outputs)):
            tensors = [value for value in values if isinstance(method.values[value], PteTensor)]
            keys = [self._tensor(state, value) for value in tensors]
            self.ends[end].extend(key for key in keys if end or key not in self.constants)
        self._problems(state, calls)

    def _tensor(self, state: _MethodState, value: int, *, new: bool = False) -> str:
        tensor = state.method.values[value]
        if not isinstance(tensor, PteTensor):
            return ""
        bytes_, key = (tensor.pool, tensor.offset, tensor.bytes), self.keys.get((state.number, value))
        planned = bool(tensor.pool) and tensor.bytes > 0
        if key is None:
            same = state.lying.get(bytes_) if planned and not new and value not in state.inputs else None
            if same:
                self.views[state.number, value] = same[1]
            key = self.keys[state.number, value] = same[0] if same else self._key(state, value)
        if key not in self.tensors:
            image = value in state.images and not tensor.constant and is_channels_last(tensor)
            shape = tuple(tensor.sizes[axis] for axis in NHWC_ORDER) if image else tensor.shape
            self.tensors[key] = Tensor(key, tensor.elem_type, shape)
        if tensor.constant:
            self.constants[key] = tensor
        elif planned and (new or bytes_ not in state.lying):
            state.lying[bytes_] = key, tensor
        return key

    def _key(self, state: _MethodState, value: int) -> str:
        front = f"{state.method.name}/" if state.number else ""
        key = f"{front}input{state.inputs[value]}" if value in state.inputs else f"{front}value{value}"
        return unlike(key, self.taken)

    def _node(self, call: ProgramCall, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        attributes: dict[str, Attribute] = {
            name: value for name, value in call.arguments.items() if isinstance(value, (int, float, str))
        }
        attributes |= {name: call.numbers_of(name) for name in call.lists}
        span = call.step.span
        domain = EXECUTORCH if call.step.kind == "KernelCall" else f"{EXECUTORCH}.delegate"
        self.nodes.append(
            Node(
                len(self.nodes), call.label, call.op, domain, 1, inputs, tuple(filter(None, outputs)), attributes,
                offset=self.program.start + span.offset, length=span.length,
            )
        )  # fmt: skip
        self.calls.append(call)

    def _problems(self, state: _MethodState, calls: Sequence[ProgramCall]) -> None:
        """What of a method is not looked at."""
        method, tensors = state.method, [value for value in state.method.values if isinstance(value, PteTensor)]
        outside = sum(bool(tensor.external) for tensor in tensors)
        if outside:
            text = f"{outside} constants of method '{method.name}' lie in another file, which is not read"
            self.problems.append(Problem("undecided", text))
        open_sizes = sizes_left_open(method, [(call.label, call.op, call.written) for call in calls])
        keys = {value: self.keys[state.number, value] for value in state.inputs if (state.number, value) in self.keys}
        inputs = {key: method.values[value] for value, key in keys.items()}
        moving = [key for key, tensor in inputs.items() if isinstance(tensor, PteTensor) and tensor.dynamic]
        if open_sizes and not (moving and all(key in self.given for key in moving)):
            self.problems.append(Problem("undecided", open_sizes, do=FIX_THE_SIZES))
        jumps = sum(step.kind == "JumpFalseCall" for step in method.steps)
        if jumps:
            text = f"method '{method.name}' has {jumps} jumps; its calls are judged in the order of the file"
            self.problems.append(Problem("undecided", text))

    def loaded(self) -> LoadedProgram:
        consumers: dict[str, dict[int, Node]] = {}
        for node in self.nodes:
            for key in filter(None, node.inputs):
                consumers.setdefault(key, {})[node.index] = node
        graph = Graph(
            self.program.path,
            tuple(self.nodes),
            self.tensors,
            {key: self._constant(key, tensor) for key, tensor in self.constants.items()},
            tuple(self.ends[0]),
            tuple(self.ends[1]),
            {key: node for node in self.nodes for key in node.outputs},
            {key: tuple(readers.values()) for key, readers in consumers.items()},
            tuple(self.problems),
        )
        return LoadedProgram(self.program, graph, tuple(self.calls), self.constants, self.keys, self.views)

    def _constant(self, key: str, tensor: PteTensor) -> Constant:
        return Constant(key, tensor.elem_type, tensor.shape, lambda: self.program.numbers_of(tensor), editable=False)
