"""Operators that an edit of a `.tflite` file adds."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.formats.flatbuffer import Table, Value
from onnxlint_cmsis.formats.tflite.flat_edit import FlatEdit
from onnxlint_cmsis.formats.tflite.flat_writer import Address, Options, scalars, table
from onnxlint_cmsis.formats.tflite.new_tables import changed_table
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple

DEPRECATED = 127
"""Largest number in the field of an OperatorCode that older readers know."""


class NewOperator(NamedTuple):
    """A builtin operator that the file does not have yet."""

    op: str
    """Operator in the schema's words."""
    version: int
    """Its version."""
    inputs: tuple[int, ...]
    """Tensors read."""
    outputs: tuple[int, ...]
    """Tensors written."""
    options_type: str
    """Table with the options."""
    options: Mapping[str, int | str]
    """Options that are not the default."""


def new_operator(flat: FlatEdit, new: NewOperator, code: int) -> Address:
    """An operator whose OperatorCode has a number."""
    options = new.options_type, flat.append(table(new.options_type, new.options))
    return _operator(flat, code, new.inputs, new.outputs, options)


def copied_operator(
    flat: FlatEdit, old: Table, inputs: tuple[int, ...], outputs: tuple[int, ...], changes: Mapping[str, Value]
) -> Address:
    """A copy of an operator with other tensors and options. Raises NotAppliedError where it has more than these."""
    if any(old.has(name) for name in ("custom_options", "builtin_options_2")) or old.ints("intermediates"):
        raise NotAppliedError("an operator with options of its own cannot be copied")
    stored = old.table("builtin_options")
    options = None if stored is None else (old.union("builtin_options"), changed_table(flat, stored, changes))
    return _operator(flat, old.number("opcode_index"), inputs, outputs, options)


def operator_number(code: Table) -> int:
    """Number of the operator of an OperatorCode, which older files have in one field alone."""
    return max(code.number("deprecated_builtin_code"), code.number("builtin_code"))


def new_code(flat: FlatEdit, number: int, version: int) -> Address:
    """An OperatorCode, with its number in both fields as converters write it."""
    values = {"deprecated_builtin_code": min(number, DEPRECATED), "builtin_code": number, "version": version}
    return flat.append(table("OperatorCode", values))


def _operator(
    flat: FlatEdit, code: int, inputs: tuple[int, ...], outputs: tuple[int, ...], options: Options | None
) -> Address:
    values: dict[str, int | Address | Options] = {
        "opcode_index": code,
        "inputs": flat.append(scalars("int", inputs)),
        "outputs": flat.append(scalars("int", outputs)),
    }
    if options is not None:
        values["builtin_options"] = options
    return flat.append(table("Operator", values))
