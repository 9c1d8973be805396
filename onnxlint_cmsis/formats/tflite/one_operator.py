"""A `.tflite` file with one of its operators alone, to run it on inputs of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.formats.tflite.flat_blobs import Address, scalars
from onnxlint_cmsis.formats.tflite.flat_edit import FlatEdit
from onnxlint_cmsis.formats.tflite.flat_file import FlatFile
from onnxlint_cmsis.formats.tflite.flat_table import table_at


def one_operator(data: bytes, number: int, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """The file with an operator of the main subgraph alone; tensors keep their numbers.

    `inputs` and `outputs` are those of the new model. Raises NotAppliedError for a file that is not edited.
    """
    edit, file = FlatEdit(data), FlatFile(data)
    root = table_at(file, "Model", file.follow(0))
    main = root.tables("subgraphs")[0]
    edit.write_addresses(main.place("operators"), [Address(main.tables("operators")[number].span.offset)])
    edit.write_vector(main.place("inputs"), scalars("int", inputs))
    edit.write_vector(main.place("outputs"), scalars("int", outputs))
    if root.has("signature_defs"):
        edit.write_addresses(root.place("signature_defs"), [])
    return edit.data()
