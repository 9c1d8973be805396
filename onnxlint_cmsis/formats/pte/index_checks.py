"""What a program says is there: every index names something, sizes fit, and planned tensors lie in their buffers."""

from __future__ import annotations

from onnxlint_cmsis.formats.flatbuffer import FlatFile
from onnxlint_cmsis.formats.pte.fields import SCHEMA
from onnxlint_cmsis.formats.pte.program_records import Method, PteTensor, ValueList
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM


def check_indices(method: Method, file: FlatFile) -> None:
    """Raise ModelError for an index in a method that names nothing, and for a planned tensor outside its buffer."""
    count = len(method.values)
    where = f"method '{method.name}'"
    SCHEMA.check_indices(where, "value", (*method.inputs, *method.outputs), count)
    for number, size in enumerate(method.pools):
        if size < 0:
            raise SCHEMA.damaged(f"planned buffer {number} of {where} has {size} bytes; at least 0 are allowed")
    for number, step in enumerate(method.steps):
        SCHEMA.check_indices(f"instruction {number} ({step.name or step.kind}) of {where}", "value", step.args, count)
        lists = (value for index in step.args if isinstance(value := method.values[index], ValueList))
        file.spend(sum(len(value.items) for value in lists))
    for number, value in enumerate(method.values):
        if isinstance(value, ValueList):
            SCHEMA.check_indices(
                f"value {number} of {where}", "value", (item for item in value.items if item != -1), count
            )
        elif isinstance(value, PteTensor) and value.pool:
            SCHEMA.check_indices(f"value {number} of {where}", "planned buffer", (value.pool,), len(method.pools))
            end, room = value.offset + value.bytes, method.pools[value.pool]
            if end > room:
                text = f"value {number} of {where} ends at byte {end} of planned buffer {value.pool}, which has {room}"
                raise SCHEMA.damaged(text)


def check_sizes(where: str, sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    """Raise ModelError for sizes that are too many or too large, and for an order that is none of their axes."""
    if len(sizes) > MAX_AXES:
        raise SCHEMA.damaged(f"{where} has {len(sizes)} dimensions; at most {MAX_AXES} are allowed")
    if any(not 0 <= size <= MAX_DIM for size in sizes):
        raise SCHEMA.damaged(f"{where} has sizes {list(sizes)}; a size is at least 0")
    if sorted(order) != [*range(len(sizes))]:
        raise SCHEMA.damaged(f"{where} has dim_order {list(order)} for {len(sizes)} dimensions")
