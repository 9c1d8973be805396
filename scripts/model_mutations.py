"""Ways to damage a model or an image: its bytes, or parts of it.

The parts of an ONNX model are its attributes, shapes, operands, constants, versions and every field of its messages;
those of a `.tflite` or `.pte` file are the fields of its tables, and the numbers that it stores beside its buffers:
sizes, indices, options, types, scales, lengths.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from field_damage import field_damage, places, retied
from image_damage import damage_image, is_built
from onnxlint_cmsis.formats.flatbuffer import Table, root_of
from onnxlint_cmsis.formats.flatbuffer_schema import Schema
from onnxlint_cmsis.formats.pte.bundle import BUNDLE
from onnxlint_cmsis.formats.pte.fields import SCHEMA as PTE
from onnxlint_cmsis.formats.tflite.schema import SCHEMA as TFLITE
from onnxlint_cmsis.model.model_error import ModelError

EXTREME = [0, -1, 1, 2, -2, 7, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
SIZES = [0, 1, 3, 2**31 - 1]
REALS = [0.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e30, 1e-45, 3.4e38]
BYTES = [0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF]
FLATBUFFERS = (TFLITE, PTE, BUNDLE)
SMALL = 256
"""Bytes of a constant that may be a scale, a zero-point, a bias or a shape."""
LONGEST = 32
"""Bytes that are deleted, doubled or exchanged at once."""


def mutated(data: bytes, chance: random.Random, kind: str) -> bytes:
    """The model with some damage; `kind` is `bytes`, `parts` or `both`, which draws one of them."""
    chosen = chance.choice(("bytes", "parts")) if kind == "both" else kind
    times = chance.choice([1, 1, 2, 3])
    if chosen == "bytes":
        damaged = bytearray(data)
        for _ in range(times):
            chance.choice(BYTE_MUTATIONS)(damaged, chance)
        return bytes(damaged)
    if is_built(data):
        return damage_image(data, chance, times)
    if schema := next((schema for schema in FLATBUFFERS if schema.identifier == data[4:8]), None):
        return _twisted(data, schema, chance, times)
    try:
        proto = onnx.load_model_from_string(data)
    except DecodeError:
        return data
    for _ in range(times):
        chance.choice(PART_MUTATIONS)(proto, chance)
    return proto.SerializeToString()


def _flip(data: bytearray, chance: random.Random) -> None:
    """One bit."""
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _replace(data: bytearray, chance: random.Random) -> None:
    """One byte, mostly by one at the end of some range."""
    if data:
        data[chance.randrange(len(data))] = chance.choice([*BYTES, chance.randrange(256)])


def _insert(data: bytearray, chance: random.Random) -> None:
    """One to three new bytes."""
    offset = chance.randrange(len(data) + 1)
    data[offset:offset] = bytes(chance.choice([*BYTES, chance.randrange(256)]) for _ in range(chance.randint(1, 3)))


def _delete(data: bytearray, chance: random.Random) -> None:
    """A few bytes."""
    offset = chance.randrange(len(data) + 1)
    del data[offset : offset + chance.randint(1, LONGEST)]


def _double(data: bytearray, chance: random.Random) -> None:
    """A few bytes once more, somewhere else."""
    start, offset = (chance.randrange(len(data) + 1) for _ in range(2))
    data[offset:offset] = data[start : start + chance.randint(1, LONGEST)]


def _cut(data: bytearray, chance: random.Random) -> None:
    """Everything from some place on."""
    del data[chance.randrange(len(data) + 1) :]


def _word(data: bytearray, chance: random.Random) -> None:
    """One aligned word, which is where a flatbuffer has its offsets, lengths and sizes."""
    if len(data) >= 8:
        offset = 4 * chance.randrange(len(data) // 4)
        number = chance.choice([*EXTREME, chance.randrange(len(data))]) % 2**32
        data[offset : offset + 4] = number.to_bytes(4, "little")


def _twisted(data: bytes, schema: Schema, chance: random.Random, times: int) -> bytes:
    """A flatbuffer with other numbers in its tables; as it is where it cannot be walked."""
    try:
        numbers = sorted(set(_numbers(root_of(schema, data))))
        fields = places(root_of(schema, data))
    except (ModelError, RecursionError):
        return data
    damaged = bytearray(data)
    tied = sum(chance.random() < 0.4 for _ in range(times))
    for _ in range(tied):
        retied(damaged, fields, chance)
    for offset, letter in chance.choices(numbers, k=times - tied):
        low, high = (0, 1) if letter == "?" else (0, 255) if letter in "bB" else (-(2**63), 2**64)
        real = letter in "fd"
        values = REALS if real else [value for value in [*EXTREME, 3, 5, 8] if low <= value <= high]
        value = chance.choice(values)
        width = struct.calcsize(f"<{letter}")
        new = struct.pack(f"<{letter}", value) if real else (int(value) % 256**width).to_bytes(width, "little")
        damaged[offset : offset + width] = new
    return bytes(damaged)


BYTES_OF_VALUES = (
    ("Buffer", "data"), ("Buffer", "storage"), ("BackendDelegateInlineData", "data"), ("Tensor", "data"),
    ("BundledProgram", "program"),
)  # fmt: skip
"""Vectors of bytes that are values and no numbers of the model."""


def _numbers(table: Table) -> Iterator[tuple[int, str]]:
    """Where the numbers of a table and of those below it stand, with their letters of `struct`; no bytes of buffers."""
    file, schema = table.file, table.file.schema
    for name, field in table.fields.items():
        offset = table.position(name)
        if not offset:
            continue
        inner = field.type[1:-1] if field.type.startswith("[") else ""
        if field.type in schema.scalars:
            yield offset, schema.scalars[field.type][0]
        elif inner in schema.scalars and (table.kind, name) not in BYTES_OF_VALUES:
            letter, width = schema.scalars[inner]
            first, count = file.vector(file.follow(offset), width)
            yield first - 4, "I"
            yield from ((first + index * width, letter) for index in range(count))
        elif inner in schema.tables:
            for child in table.tables(name):
                yield from _numbers(child)
        elif field.type in schema.tables or (field.type in schema.unions and table.union(name) in schema.tables):
            below = table.table(name)
            yield from _numbers(below) if below else ()


def _attribute(proto: onnx.ModelProto, chance: random.Random) -> None:
    """One attribute of one node."""
    attributes = [a for node in proto.graph.node for a in node.attribute]
    if not attributes:
        return
    target = chance.choice(attributes)
    if target.type == onnx.AttributeProto.INT:
        target.i = chance.choice(EXTREME)
    elif target.type == onnx.AttributeProto.INTS:
        values = [chance.choice(EXTREME) for _ in range(chance.choice([0, 1, len(target.ints), 5]))]
        del target.ints[:]
        target.ints.extend(values)
    elif target.type == onnx.AttributeProto.FLOAT:
        target.f = chance.choice(REALS)
    elif target.type == onnx.AttributeProto.STRING:
        target.s = chance.choice([b"", b"SAME_UPPER", b"x", b"\xff"])
    if chance.random() < 0.1:
        target.type = chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 11])  # type: ignore[assignment]


def _shape(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Size or rank of one input."""
    if not proto.graph.input:
        return
    dims = chance.choice(proto.graph.input).type.tensor_type.shape.dim
    action = chance.randrange(3)
    if action == 0 and dims:
        dims[chance.randrange(len(dims))].dim_value = chance.choice(SIZES)
    elif action == 1 and dims:
        del dims[chance.randrange(len(dims)) :]
    else:
        for _ in range(chance.choice([1, 4, 9, 40, 70])):
            dims.add().dim_value = chance.choice([0, 1, 2])


def _operand(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Inputs of one node: fewer, none, or exchanged."""
    nodes = [node for node in proto.graph.node if node.input]
    if not nodes:
        return
    node = chance.choice(nodes)
    index = chance.randrange(len(node.input))
    if chance.random() < 0.5:
        del node.input[index:]
    else:
        node.input[index] = chance.choice(["", *node.input])


def _constant(proto: onnx.ModelProto, chance: random.Random) -> None:
    """An input made an initializer with extreme values."""
    if not proto.graph.input:
        return
    given = chance.choice(proto.graph.input)
    tensor = given.type.tensor_type
    dims = [dim.dim_value for dim in tensor.shape.dim]
    count = int(np.prod(dims, dtype=object)) if dims else 1
    if tensor.elem_type not in (1, 6, 7) or not 0 <= count < 50:
        return
    kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    numbers = (
        REALS if tensor.elem_type == 1 else [n for n in [*EXTREME, 3] if np.iinfo(kind).min <= n <= np.iinfo(kind).max]
    )
    values = numpy_helper.from_array(np.array([chance.choice(numbers) for _ in range(count)], kind), given.name)
    del values.dims[:]
    values.dims.extend(dims)  # more than numpy has axes for, at times
    proto.graph.initializer.append(values)


def _stored(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Numbers of an initializer, most often of a small one such as a scale: extreme ones, or bytes too many or few."""
    if not proto.graph.initializer:
        return
    small = [tensor for tensor in proto.graph.initializer if len(tensor.raw_data) <= SMALL]
    tensor = chance.choice(small if small and chance.random() < 0.8 else proto.graph.initializer)
    action = chance.randrange(4)
    if action == 0:
        tensor.raw_data = tensor.raw_data[: chance.randrange(len(tensor.raw_data) + 1)]
    elif action == 1:
        tensor.raw_data += bytes(chance.randint(1, 9))
    elif action == 2:
        tensor.data_type = chance.choice([1, 2, 3, 6, 7, 10, 11, 16, 21, 27])
    elif tensor.data_type in (1, 3, 6):
        width, letter = {1: (4, "f"), 3: (1, "b"), 6: (4, "i")}[tensor.data_type]
        numbers = REALS if letter == "f" else [-(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1, 0]
        count, data = len(tensor.raw_data) // width, bytearray(tensor.raw_data)
        if count:
            start = width * chance.randrange(count)
            data[start : start + width] = struct.pack(f"<{letter}", chance.choice(numbers))
            tensor.raw_data = bytes(data)


def _external(proto: onnx.ModelProto, chance: random.Random) -> None:
    """An initializer that is said to lie in another file, at a place outside of it."""
    if proto.graph.initializer:
        tensor = chance.choice(proto.graph.initializer)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, values in {
            "location": ["none.data", "model.onnx", "original.onnx", "..", ""],
            "offset": ["0", "-1", "9" * 30, "x", "4096"], "length": ["", "0", "4", "99999999999"],
        }.items():  # fmt: skip
            tensor.external_data.add(key=key, value=chance.choice(values))


def _version(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Another operator set; outputs without shapes."""
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    if proto.opset_import and chance.random() < 0.4:
        proto.opset_import[0].version = chance.choice([1, 5, 7, 9, 11, 13, 18, 21, 24, 2**31, 2**63 - 1])


BYTE_MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(_flip, _flip, _flip, _replace, _replace, _replace, _insert, _delete, _double, _cut, _word),
)
PART_MUTATIONS: tuple[Callable[[onnx.ModelProto, random.Random], None], ...] = (
    *(_attribute, _attribute, _shape, _shape, _operand, _constant, _constant, _constant, _version),
    *(_stored, _stored, _external, *[field_damage] * 8),
)
