"""A `.tflite` file with one of its operators alone, to run it on inputs of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.tflite.flat_edit import FlatEdit
from onnxlint_cmsis.formats.tflite.flat_writer import Address, scalars
from onnxlint_cmsis.formats.tflite.schema import SCHEMA


def one_operator(data: bytes, number: int, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """The file with an operator of the main subgraph alone; tensors keep their numbers.

    `inputs` and `outputs` are those of the new model. Raises NotAppliedError for a file that is not edited.
    """
    edit, root = FlatEdit(data), root_of(SCHEMA, data)
    main = root.tables("subgraphs")[0]
    edit.write_addresses(main.position("operators"), [Address(main.tables("operators")[number].span.offset)])
    edit.write_vector(main.position("inputs"), scalars("int", inputs))
    edit.write_vector(main.position("outputs"), scalars("int", outputs))
    if root.has("signature_defs"):
        edit.write_addresses(root.position("signature_defs"), [])
    return edit.data()
