"""Names of the buffers of an arena."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, operator_label
from onnxlint_cmsis.formats.tflite.to_graph import names_of, tensor_keys
from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout


def buffer_names(model: TfliteModel, arena: ArenaLayout) -> list[str]:
    """Name of every buffer by its number: tensors of all subgraphs, then scratch requests."""
    taken = names_of(model)
    names = [
        name
        for number, subgraph in enumerate(model.subgraphs)
        for name in tensor_keys(subgraph, f"subgraph{number}" if number else "", taken)
    ]
    return names + [f"scratch of {label_of(model, number, owner)}" for number, owner, _ in arena.scratch]


def buffer_writers(model: TfliteModel, arena: ArenaLayout) -> dict[int, str]:
    """The operator that writes each buffer first, by the buffer's number as for `buffer_names`."""
    writers: dict[int, str] = {}
    base = 0
    for number, subgraph in enumerate(model.subgraphs):
        for index, operator in enumerate(subgraph.operators):
            for tensor in operator.outputs:
                writers.setdefault(base + tensor, label_of(model, number, index))
        base += len(subgraph.tensors)
    return writers | {base + number: label_of(model, *request[:2]) for number, request in enumerate(arena.scratch)}


def label_of(model: TfliteModel, subgraph: int, index: int) -> str:
    """What messages call an operator."""
    return operator_label(subgraph, index, model.subgraphs[subgraph].operators[index].title)
