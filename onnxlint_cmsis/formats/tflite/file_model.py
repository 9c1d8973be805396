"""A `.tflite` file as plain data: what it says, number for number, with its indices checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.formats.flatbuffer import Span, Value
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.tflite.schema import OPERATORS
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import StoredQuantization

BODIES = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "CALL_ONCE": ("init_subgraph_index",),
}
"""Options that name the subgraphs an operator runs, in the order they are planned."""
OWNERS: dict[str, tuple[str, ...]] = {f"{op.replace('_', '')}OPTIONS": (op,) for op in OPERATORS}
OWNERS["CONV3DOPTIONS"] = ("CONV_3D", "CONV_3D_TRANSPOSE")
"""Operators that a table of options belongs to, by the table's name in capitals; none for `Pool2DOptions`."""


class TfliteTensor(NamedTuple):
    """One tensor of a subgraph."""

    name: str
    """Name in the file; need not be unique."""
    elem_type: str
    """Element type in the schema's words: `INT8`, `FLOAT32`."""
    shape: tuple[int, ...]
    """Sizes; 1 in place of one that the converter left open."""
    signature: tuple[int, ...]
    """Sizes with -1 in place of those left open; empty where none is."""
    buffer: int
    """Index of the buffer with its values; a buffer without bytes means that the tensor is computed."""
    quantization: StoredQuantization | None
    """Scales and zero-points; None for a tensor that is not quantized."""
    is_variable: bool
    """Keeps its value from one run to the next."""
    encoding: str
    """Empty for plain values; else `sparse`, `external`, or the schema's name of the quantization's details."""


class TfliteOperator(NamedTuple):
    """One operator of a subgraph."""

    op: str
    """Builtin operator in the schema's words: `CONV_2D`, `CUSTOM`; `BUILTIN_300` for a number without a name."""
    custom_code: str
    """Name of a custom operator; flex operators start with `Flex`."""
    version: int
    """Version of the operator that the converter asks for."""
    inputs: tuple[int, ...]
    """Tensors read; -1 for an omitted one."""
    outputs: tuple[int, ...]
    """Tensors written."""
    intermediates: tuple[int, ...]
    """Tensors inside the operator (LSTM)."""
    options_type: str
    """Table with the options: `Conv2DOptions`; `NONE` where the file has none."""
    options: dict[str, Value]
    """Options by the schema's names, defaults filled in; enumerations by name."""
    span: Span
    """Bytes of the operator's table in the file."""
    custom_options: Span
    """Bytes of a custom operator's options."""

    @property
    def bodies(self) -> tuple[tuple[str, int], ...]:
        """Options that name subgraphs, and the subgraphs that the operator runs."""
        values = ((option, self.options.get(option)) for option in BODIES.get(self.op, ()))
        return tuple((option, value) for option, value in values if isinstance(value, int) and value >= 0)

    @property
    def title(self) -> str:
        """Operator in messages: a custom one by its own name."""
        return self.custom_code if self.op == "CUSTOM" and self.custom_code else self.op


def operator_label(subgraph: int, index: int, title: str) -> str:
    """Name of an operator in messages: `CONV_2D#3`, and `subgraph1:CONV_2D#3` where it is not in the main subgraph."""
    return f"subgraph{subgraph}:{title}#{index}" if subgraph else f"{title}#{index}"


class Subgraph(NamedTuple):
    """A list of operators in the order they run; subgraph 0 is the model."""

    name: str
    """Name in the file, possibly empty."""
    tensors: tuple[TfliteTensor, ...]
    """All tensors."""
    inputs: tuple[int, ...]
    """Tensors that the caller fills."""
    outputs: tuple[int, ...]
    """Tensors that the caller reads."""
    operators: tuple[TfliteOperator, ...]
    """Operators in the order they run."""


class ModelSignature(NamedTuple):
    """A named way to call the model (SignatureDef)."""

    key: str
    """Name of the signature."""
    subgraph: int
    """Subgraph that it calls."""
    inputs: tuple[tuple[str, int], ...]
    """Name and tensor of each input."""
    outputs: tuple[tuple[str, int], ...]
    """Name and tensor of each output."""


class TfliteModel(NamedTuple):
    """A whole file."""

    path: str
    """File as the user named it."""
    version: int
    """Version of the schema, 3 in every file of today."""
    description: str
    """Free text."""
    subgraphs: tuple[Subgraph, ...]
    """Subgraphs; 0 is the model, others are bodies of IF, WHILE, CALL_ONCE or further signatures."""
    buffers: tuple[Span, ...]
    """Where the values of constants lie; length 0 for a buffer without bytes."""
    signatures: tuple[ModelSignature, ...]
    """Named ways to call it."""
    metadata: tuple[tuple[str, int], ...]
    """Name and buffer of each metadata entry."""
    data: Buffer
    """The file, mapped."""

    def bytes_of(self, buffer: int) -> bytes:
        """Bytes of a buffer, read now."""
        offset, length = self.buffers[buffer]
        return bytes(self.data[offset : offset + length])

    def operators(self) -> Iterator[tuple[int, int, TfliteOperator]]:
        """Every operator with the numbers of its subgraph and of itself there, in the order they are prepared."""
        for number, subgraph in enumerate(self.subgraphs):
            for index, operator in enumerate(subgraph.operators):
                yield number, index, operator

    def runs_once(self) -> frozenset[int]:
        """Subgraphs that run only once: every path to them goes through a CALL_ONCE."""
        every, first = self._entered(lambda op: op != "CALL_ONCE"), self.entered()
        return frozenset(first - every)

    def entered(self) -> set[int]:
        """Subgraphs that the main one runs, itself included."""
        return self._entered(lambda _: True)

    def _entered(self, follows: Callable[[str], bool]) -> set[int]:
        """Subgraphs that the main one enters through the operators that are followed, itself included."""
        entered, pending = {0}, [0]
        while pending:
            operators = self.subgraphs[pending.pop()].operators
            bodies = {body for operator in operators if follows(operator.op) for _, body in operator.bodies} - entered
            entered |= bodies
            pending += bodies
        return entered

    def is_constant(self, tensor: TfliteTensor) -> bool:
        """Tell whether the file holds the tensor's values."""
        return self.buffers[tensor.buffer].length > 0
