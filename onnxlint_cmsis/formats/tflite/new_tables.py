"""Tables that an edit of a `.tflite` file adds: tensors, buffers, changed options."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnxlint_cmsis.formats.flatbuffer import Table, Value
from onnxlint_cmsis.formats.tflite.flat_edit import FlatEdit
from onnxlint_cmsis.formats.tflite.flat_writer import Address, Blob, number, scalars, table, text
from onnxlint_cmsis.formats.tflite.schema import SCALARS
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import StoredQuantization


class NewTensor(NamedTuple):
    """A tensor that the file does not have yet."""

    name: str
    """Name."""
    elem_type: str
    """Element type in the schema's words."""
    shape: tuple[int, ...]
    """Sizes."""
    data: bytes = b""
    """Values; none for a tensor that is computed."""
    quantization: StoredQuantization | None = None
    """Scales and zero-points."""


def new_tensor(flat: FlatEdit, new: NewTensor, buffer: int) -> Address:
    """A tensor whose values are in a buffer."""
    values: dict[str, float | str | Address] = {"type": new.elem_type, "buffer": buffer}
    if new.quantization:
        values["quantization"] = _quantization(flat, new.quantization)
    values["shape"] = flat.append(scalars("int", new.shape))
    values["name"] = flat.append(text(new.name))
    return flat.append(table("Tensor", values))


def new_buffer(flat: FlatEdit, data: bytes) -> Address:
    """A buffer with these bytes."""
    return flat.append(table("Buffer", {"data": flat.append(scalars("ubyte", data))}))


def new_metadata(flat: FlatEdit, name: str, buffer: int) -> Address:
    """A metadata entry whose bytes are in a buffer."""
    return flat.append(table("Metadata", {"name": flat.append(text(name)), "buffer": buffer}))


def with_field(old: Table, name: str, value: Address, target: Callable[[int], Address]) -> Blob:
    """A table with one more field; `target` tells what an offset of the old one leads to. Raises NotAppliedError."""
    known = [field for field in old.fields if old.has(field)]
    if len(known) != len(old.slots()):
        raise NotAppliedError(f"{old.kind} has fields that are not known here")
    values: dict[str, float | str | bool | Address] = {
        field: old.number(field) if old.fields[field].type in SCALARS else target(old.position(field))
        for field in known
    }
    return table(old.kind, {**values, name: value})


def changed_table(flat: FlatEdit, old: Table, changes: Mapping[str, Value]) -> Address:
    """A copy of a table of numbers, text and vectors of numbers, with some fields changed. Raises NotAppliedError."""
    known = {name for name in old.fields if old.has(name)}
    if len(known) != len(old.slots()):
        raise NotAppliedError(f"{old.kind} has fields that are not known here")
    values: dict[str, float | str | bool | Address] = {}
    for name, field in old.fields.items():
        if name not in known and name not in changes:
            continue
        value = changes.get(name, old.value(name))
        if isinstance(value, tuple):
            kind = field.type[1:-1]
            values[name] = flat.append(scalars(kind, [number(kind, element) for element in value]))
        else:
            values[name] = flat.append(text(str(value))) if field.type == "string" else value
    return flat.append(table(old.kind, values))


def _quantization(flat: FlatEdit, new: StoredQuantization) -> Address:
    values: dict[str, float | Address] = {
        "scale": flat.append(scalars("float", new.scales)),
        "zero_point": flat.append(scalars("long", new.zero_points)),
        "quantized_dimension": new.axis,
    }
    return flat.append(table("QuantizationParameters", values))
