"""Edits of a `.tflite` file in its own words: tensors, buffers, inputs of operators, options; everything else stays."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from onnxlint_cmsis.formats.flatbuffer import Table, Value, root_of
from onnxlint_cmsis.formats.tflite import new_operators, new_tables
from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator, TfliteTensor
from onnxlint_cmsis.formats.tflite.flat_edit import FlatEdit
from onnxlint_cmsis.formats.tflite.flat_writer import (
    Address,
    addresses,
    packed,
    scalars,
)
from onnxlint_cmsis.formats.tflite.memory_plan import OFFLINE_PLAN, plan_bytes
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.schema import OPERATORS, SCALARS, SCHEMA
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.model.graph import StoredQuantization
from onnxlint_cmsis.model.model_error import ModelError

OUTSIDE = 1
"""Offset of bytes up to which they are in the flatbuffer; larger ones lead behind it, in files beyond 2 GB."""


class TfliteEdit:
    """A copy of a file in the making."""

    def __init__(self, path: str, data: bytes) -> None:
        """Raises ModelError for a file that cannot be read, NotAppliedError for one that is not edited."""
        self.model = read_tflite(path, data)
        try:
            self._flat = FlatEdit(data)
        except ModelError as error:
            raise NotAppliedError(f"a part of the file that no runtime needs is damaged: {error}") from None
        self._root = root_of(SCHEMA, data)
        self._subgraphs = self._root.tables("subgraphs")
        self._tensors = [subgraph.tables("tensors") for subgraph in self._subgraphs]
        self._operators = [subgraph.tables("operators") for subgraph in self._subgraphs]
        self._buffers = self._root.tables("buffers")
        _check_inside(self._buffers, self._operators)
        self._values: dict[TensorPlace, bytes] = {}
        self._inputs: dict[OperatorPlace, list[int]] = {}
        self._options: dict[OperatorPlace, dict[str, Value]] = {}
        self._more_tensors: list[list[Address]] = [[] for _ in self._subgraphs]
        self._more_buffers: dict[bytes, tuple[int, Address]] = {}
        self._codes = self._root.tables("operator_codes")
        self._more_codes: dict[tuple[int, int], Address] = {}
        """OperatorCodes by number and version."""
        self._more_operators: dict[OperatorPlace, list[Address]] = {}
        self._plan: bytes | None = None
        self._metadata: Address | None = None
        """Metadata entries of a file that has had none."""
        self._plan_holds = True
        """Whether the memory plan of the file still names the tensors that it was made for, at their sizes."""

    def tensor(self, where: TensorPlace) -> TfliteTensor:
        """A tensor as the file has it before all edits."""
        return self.model.subgraphs[where.subgraph].tensors[where.number]

    def operator(self, where: OperatorPlace) -> TfliteOperator:
        """An operator as the file has it before all edits."""
        return self.model.subgraphs[where.subgraph].operators[where.number]

    def set_shape(self, where: TensorPlace, shape: Sequence[int]) -> None:
        """Give a tensor new sizes; those that its signature leaves open stay open."""
        table, old = self._tensors[where.subgraph][where.number], self.tensor(where)
        if tuple(shape) == old.shape:
            return
        if len(shape) != len(old.shape):
            raise NotAppliedError(f"tensor `{old.name}` would change its rank")
        self._plan_holds = False
        self._flat.write_vector(table.position("shape"), scalars("int", shape))
        if len(old.signature) == len(shape):
            signature = [size if known >= 0 else known for size, known in zip(shape, old.signature, strict=True)]
            self._flat.write_vector(table.position("shape_signature"), scalars("int", signature))

    def set_values(self, where: TensorPlace, data: bytes) -> None:
        """Give a constant other values; tensors that share its buffer keep theirs."""
        if self.tensor(where).encoding:
            raise NotAppliedError(f"tensor `{self.tensor(where).name}` is stored in a form that is not edited")
        self._values[where] = data

    def has_own_quantization(self, where: TensorPlace) -> bool:
        """Tell whether no other tensor has a tensor's table of scales and zero-points."""
        table = self._tensors[where.subgraph][where.number].table("quantization")
        return table is not None and not self._flat.shared(table.span.offset)

    def set_quantization(self, where: TensorPlace, quantization: StoredQuantization) -> None:
        """Give a tensor other scales and zero-points; a range that the file states for each of them is forgotten."""
        table = self._tensors[where.subgraph][where.number].table("quantization")
        if table is None or not self.has_own_quantization(where):
            raise NotAppliedError(f"tensor `{self.tensor(where).name}` shares its quantization with another one")
        self._flat.write_vector(table.position("scale"), scalars("float", quantization.scales))
        if table.position("zero_point"):
            self._flat.write_vector(table.position("zero_point"), scalars("long", quantization.zero_points))
        for name in ("min", "max"):
            if len(table.floats(name)) > 1:
                self._flat.write_vector(table.position(name), scalars("float", ()))

    def next_tensor(self, subgraph: int) -> int:
        """The index of the tensor that is added next."""
        return len(self._tensors[subgraph]) + len(self._more_tensors[subgraph])

    def add_tensor(self, subgraph: int, new: new_tables.NewTensor) -> int:
        """Add a tensor to a subgraph; returns its index there."""
        self._plan_holds = False
        at = self._buffer(new.data) if new.data else 0
        self._more_tensors[subgraph].append(new_tables.new_tensor(self._flat, new, at))
        return self.next_tensor(subgraph) - 1

    def set_input(self, where: OperatorPlace, position: int, tensor: int) -> None:
        """Make an operator read another tensor at an input, which it may not have had so far."""
        self._plan_holds = False
        inputs = self._inputs.setdefault(where, list(self.operator(where).inputs))
        inputs += [-1] * (position + 1 - len(inputs))
        inputs[position] = tensor

    def set_outputs(self, where: OperatorPlace, outputs: Sequence[int]) -> None:
        """Make an operator write other tensors."""
        self._plan_holds = False
        table = self._operators[where.subgraph][where.number]
        self._flat.write_vector(table.position("outputs"), scalars("int", outputs))

    def insert(self, where: OperatorPlace, new: new_operators.NewOperator) -> None:
        """Add an operator behind one of the file, or with number -1 in front of all, and behind those added before."""
        self._plan_holds = False
        numbers = [(new_operators.operator_number(code), code.number("version")) for code in self._codes] + [
            *self._more_codes
        ]
        wanted = OPERATORS.index(new.op)
        fitting = (index for index, (op, version) in enumerate(numbers) if op == wanted and version >= new.version)
        code = next(fitting, len(numbers))
        if code == len(numbers):
            self._more_codes[wanted, new.version] = new_operators.new_code(self._flat, wanted, new.version)
        self._put(where, new_operators.new_operator(self._flat, new, code))

    def insert_copy(
        self,
        where: OperatorPlace,
        like: OperatorPlace,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        """Add a copy of an operator with other tensors and options, as `insert` does. Raises NotAppliedError."""
        self._plan_holds = False
        old = self._operators[like.subgraph][like.number]
        self._put(where, new_operators.copied_operator(self._flat, old, tuple(inputs), tuple(outputs), options))

    def _put(self, where: OperatorPlace, operator: Address) -> None:
        self._more_operators.setdefault(where, []).append(operator)

    def option(self, where: OperatorPlace, name: str) -> Value:
        """Value of an option as it is now."""
        return self._options.get(where, {}).get(name, self.operator(where).options[name])

    def set_option(self, where: OperatorPlace, name: str, value: Value) -> None:
        """Give an operator another value of an option."""
        self._options.setdefault(where, {})[name] = value

    def set_plan(self, offsets: Sequence[int]) -> None:
        """Say where in the arena each tensor lies, those of all subgraphs in order; -1 where the interpreter says."""
        self._plan = plan_bytes(offsets, len(self._subgraphs))

    def drop_plan(self) -> None:
        """Leave out the memory plan that the file came with."""
        self._plan_holds = False

    def data(self) -> bytes:
        """The file as it is now; to be asked for once. Raises NotAppliedError.

        A memory plan that it came with goes where tensors, their sizes or who reads them changed.
        """
        for where, inputs in self._inputs.items():
            table = self._operators[where.subgraph][where.number]
            self._flat.write_vector(table.position("inputs"), scalars("int", inputs))
        for where, options in self._options.items():
            self._write_options(self._operators[where.subgraph][where.number], options)
        self._write_values()
        if self._plan is not None or not self._plan_holds:
            self._write_plan()
        for number, subgraph in enumerate(self._subgraphs):
            tensors = [*map(_address, self._tensors[number]), *self._more_tensors[number]]
            self._flat.write_addresses(subgraph.position("tensors"), tensors)
            operators = [*self._more_operators.get(OperatorPlace(number, -1), ())]
            for index, operator in enumerate(self._operators[number]):
                operators += [_address(operator), *self._more_operators.get(OperatorPlace(number, index), ())]
            if len(operators) > len(self._operators[number]):
                self._flat.write_addresses(subgraph.position("operators"), operators)
        if self._more_codes:
            codes = [*map(_address, self._codes), *self._more_codes.values()]
            self._flat.write_addresses(self._root.position("operator_codes"), codes)
        buffers = [*map(_address, self._buffers), *(address for _, address in self._more_buffers.values())]
        self._flat.write_addresses(self._root.position("buffers"), buffers)
        if self._metadata is not None:
            self._flat.replace_table(
                0, new_tables.with_field(self._root, "metadata", self._metadata, self._flat.target)
            )
        return self._flat.data()

    def _write_plan(self) -> None:
        """The new memory plan in place of those that were there, whose bytes go where nothing else reads them."""
        read = self._readers()
        old = [entry for entry in self._root.tables("metadata") if entry.text("name") == OFFLINE_PLAN]
        for buffer in {entry.number("buffer") for entry in old}:
            position = self._buffers[buffer].position("data")
            if position and read[buffer] == sum(entry.number("buffer") == buffer for entry in old):
                self._flat.write_vector(position, scalars("ubyte", b""))
        kept = [_address(entry) for entry in self._root.tables("metadata") if entry not in old]
        if self._plan is not None:
            kept.append(new_tables.new_metadata(self._flat, OFFLINE_PLAN, self._buffer(self._plan)))
        if self._root.has("metadata"):
            self._flat.write_addresses(self._root.position("metadata"), kept)
        elif kept:
            self._metadata = self._flat.append(addresses(kept))

    def _readers(self) -> Counter[int]:
        """How many tensors and metadata entries read each buffer."""
        read = Counter(tensor.buffer for subgraph in self.model.subgraphs for tensor in subgraph.tensors)
        read.update(buffer for _, buffer in self.model.metadata)
        return read

    def _write_options(self, operator: Table, changes: Mapping[str, Value]) -> None:
        """Changed options: in place where the file has room for them, else as a copy of their table."""
        holder = "builtin_options" if operator.table("builtin_options") else "builtin_options_2"
        options = operator.table(holder)
        if options is None:
            raise NotAppliedError("an operator without options has none to change")
        kinds = {name: options.fields[name].type for name in changes}
        roomy = all(kind in SCALARS and options.position(name) for name, kind in kinds.items())
        if not roomy or self._flat.shared(options.span.offset):
            self._flat.retarget(operator.position(holder), new_tables.changed_table(self._flat, options, changes))
            return
        for name, value in changes.items():
            if not isinstance(value, tuple):
                self._flat.overwrite(options.position(name), packed(kinds[name], value))

    def _write_values(self) -> None:
        """New values into their buffer where every tensor that reads it gets new ones, else into a new buffer."""
        read = self._readers()
        given: dict[int, dict[bytes, list[TensorPlace]]] = {}
        for where, values in self._values.items():
            given.setdefault(self.tensor(where).buffer, {}).setdefault(values, []).append(where)
        for buffer, groups in given.items():
            free = read[buffer] == sum(map(len, groups.values()))
            for values, places in groups.items():
                if free:
                    self._flat.write_vector(self._buffers[buffer].position("data"), scalars("ubyte", values))
                    free = False
                    continue
                fresh = struct.pack("<I", self._buffer(values))
                for where in places:
                    table = self._tensors[where.subgraph][where.number]
                    self._flat.overwrite(table.position("buffer"), fresh)

    def _buffer(self, data: bytes) -> int:
        """Index of a new buffer with these bytes; equal ones are one."""
        if data not in self._more_buffers:
            index = len(self._buffers) + len(self._more_buffers)
            self._more_buffers[data] = index, new_tables.new_buffer(self._flat, data)
        return self._more_buffers[data][0]


def _check_inside(buffers: Sequence[Table], operators: Sequence[Sequence[Table]]) -> None:
    """Raise NotAppliedError for a file with bytes behind its flatbuffer, as those beyond 2 GB have them."""
    options = [table.number("large_custom_options_offset") for row in operators for table in row]
    if max([*options, *(table.number("offset") for table in buffers)], default=0) > OUTSIDE:
        raise NotAppliedError("the file keeps buffers behind the flatbuffer, as files beyond 2 GB do; it is not edited")


def _address(table: Table) -> Address:
    return Address(table.span.offset)
