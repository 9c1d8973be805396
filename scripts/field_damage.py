"""Damage to the structure of a model: fields that are absent, doubled, of another type, or refer to something else.

Any message of an ONNX model and any table of a `.tflite` or `.pte` file may be hit, also one that no reader knows.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from onnxlint_cmsis.formats.flatbuffer import Table

NUMBERS = [0, -1, 1, 2, 3, 4, 7, 8, 16, 64, 1000, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e30, 1e-45, 3.4e38]
NAMES = ["", "absent", "x" * 5000, "a\nb", "\x1b[31m", "\u202e", "/", "..", "a b", "y" * 70, "ai.onnx", "com.microsoft"]
OPERATORS = [
    *("Conv", "MaxPool", "AveragePool", "Gemm", "MatMul", "Add", "Mul", "Concat", "Split", "Slice", "Pad", "Reshape"),
    *("Transpose", "Resize", "Loop", "If", "Scan", "LSTM", "Gather", "Expand", "Tile", "Constant", "ConstantOfShape"),
    *("Range", "NonZero", "TopK", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "Clip", "Softmax", "ReduceMean"),
    *("BatchNormalization", "Einsum", "ConvTranspose", "DepthToSpace", "Shape", "Squeeze", "Unsqueeze", "GatherND"),
]
LARGE = 300
"""Names and operators of a model that a damaged field may take over."""
REPEATED = 3
"""Label of a list."""
HELD = 4000
"""Messages that are looked at; those of larger models are drawn from the first."""


def _repeated(descriptor: Any) -> bool:
    """Tell whether a field is a list; versions of protobuf tell it by another attribute."""
    return bool(getattr(descriptor, "is_repeated", False) or getattr(descriptor, "label", 0) == REPEATED)


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for child in value if _repeated(field) else (value,):
                yield from _messages(child)


def field_damage(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Damage one field of one message of an ONNX model."""
    messages = [message for message, _ in zip(_messages(proto), range(HELD), strict=False)]
    message = chance.choice(messages)
    given = message.ListFields()
    named: list[Any] = [descriptor for descriptor, _ in given]
    if not named or chance.random() < 0.1:
        named = [*message.DESCRIPTOR.fields]
    descriptor = chance.choice(named)
    repeated = _repeated(descriptor)
    action = chance.random()
    if action < 0.15:
        message.ClearField(descriptor.name)
    elif repeated and action < 0.45:
        _rearranged(getattr(message, descriptor.name), chance)
    elif descriptor.type == FieldDescriptor.TYPE_MESSAGE:
        _exchanged(message, descriptor, messages, chance)
    else:
        _set(message, descriptor, proto, chance)


def _rearranged(values: Any, chance: random.Random) -> None:
    """Double, drop, exchange or turn the elements of a list."""
    held = list(values)
    if not held:
        return
    index = chance.randrange(len(held))
    action = chance.randrange(4)
    if action == 0:
        held.insert(chance.randrange(len(held) + 1), held[index])
    elif action == 1:
        del held[index]
    elif action == 2:
        held = held[:index] * 2
    else:
        held.reverse()
    copies = [type(v).FromString(v.SerializeToString()) if isinstance(v, Message) else v for v in held]
    del values[:]
    values.extend(copies)


def _exchanged(message: Message, descriptor: Any, messages: list[Message], chance: random.Random) -> None:
    """Put another message of the same type in a field: a graph below itself, a type of another tensor."""
    alike = [other for other in messages if other.DESCRIPTOR.full_name == descriptor.message_type.full_name]
    if not alike:
        return
    copy = type(alike[0]).FromString(chance.choice(alike).SerializeToString())
    if _repeated(descriptor):
        values = getattr(message, descriptor.name)
        values[chance.randrange(len(values))].CopyFrom(copy) if len(values) else values.append(copy)
    else:
        getattr(message, descriptor.name).CopyFrom(copy)


def _set(message: Message, descriptor: Any, proto: onnx.ModelProto, chance: random.Random) -> None:
    """Give a number, a name or an enumeration another value that the field can hold."""
    if descriptor.type == FieldDescriptor.TYPE_ENUM:
        value: Any = chance.choice([row.number for row in descriptor.enum_type.values])
    elif descriptor.type == FieldDescriptor.TYPE_STRING:
        value = _name(proto, descriptor.name, chance)
    elif descriptor.type == FieldDescriptor.TYPE_BYTES:
        value = chance.choice([b"", b"\xff\xfe", b"SAME_UPPER", bytes(1), bytes(64), b"x" * 5000])
    elif descriptor.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        value = chance.choice(REALS)
    else:
        value = chance.choice(NUMBERS)
    try:
        if _repeated(descriptor):
            values = getattr(message, descriptor.name)
            if len(values) and chance.random() < 0.8:
                values[chance.randrange(len(values))] = value
            else:
                values.append(value)
        else:
            setattr(message, descriptor.name, value)
    except (ValueError, TypeError):  # more bits than the field has
        return


def _name(proto: onnx.ModelProto, named: str, chance: random.Random) -> str:
    """A name from elsewhere in the model, so that references meet, cross and close circles, or a strange one."""
    if named == "op_type":
        return chance.choice(OPERATORS)
    nodes = proto.graph.node[:LARGE]
    known = [name for node in nodes for name in (*node.input, *node.output)]
    known += [tensor.name for tensor in proto.graph.initializer[:LARGE]]
    return chance.choice(known if known and chance.random() < 0.7 else NAMES)


class _Place(NamedTuple):
    """A field of a table of a flatbuffer."""

    table: Table
    """The table."""
    name: str
    """The field."""


def _tables(table: Table) -> Iterator[Table]:
    yield table
    schema = table.file.schema
    for name, given in table.fields.items():
        if not table.position(name):
            continue
        if given.type.startswith("[") and given.type[1:-1] in schema.tables:
            for child in table.tables(name):
                yield from _tables(child)
        elif given.type in schema.tables or given.type in schema.unions:
            below = table.table(name)
            if below:
                yield from _tables(below)


def places(root: Table) -> list[_Place]:
    """Every field that the tables of a file give."""
    return [_Place(table, name) for table in _tables(root) for name in table.fields if table.position(name)]


def retied(damaged: bytearray, given: list[_Place], chance: random.Random) -> None:
    """Damage one field of a flatbuffer: left out, empty, or tied to what another field of its type refers to."""
    chosen = chance.choice(given)
    table, field_ = chosen.table, chosen.table.fields[chosen.name]
    position = table.position(chosen.name)
    inner = field_.type.strip("[]")
    refers = field_.type.startswith("[") or field_.type == "string" or inner in table.file.schema.tables
    action = chance.randrange(4)
    if action == 0 or not (refers or field_.type in table.file.schema.unions):
        struct.pack_into("<H", damaged, table.vtable.offset + 4 + 2 * field_.slot, 0)
    elif action == 1 and field_.type.startswith("["):
        struct.pack_into("<I", damaged, table.file.follow(position), chance.choice([0, 0, 1, 2]))
    elif action == 2 and field_.type == "string":
        first, count = table.file.vector(table.file.follow(position), 1)
        text = chance.choice([b"\xff", b"\n", b"\x00", b"\xe2\x80\xae", b"/"])
        damaged[first : first + min(count, len(text))] = text[: min(count, len(text))]
    else:
        alike = [other for other in given if other.table.fields[other.name].type == field_.type]
        other = chance.choice(alike)
        target = other.table.file.follow(other.table.position(other.name))
        struct.pack_into("<I", damaged, position, (target - position) % 2**32)
