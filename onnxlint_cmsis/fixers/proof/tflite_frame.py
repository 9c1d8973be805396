"""What a changed `.tflite` file must have kept, whatever it computes: its interface, metadata, and sizes that fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.flatbuffer import Span
from onnxlint_cmsis.formats.tflite.memory_plan import OFFLINE_PLAN

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.proof.litert import LoadedTensor
    from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel


NOWHERE = Span(0, 0)
"""In place of where something lies, which is not compared."""


def frame_fault(old: TfliteModel, new: TfliteModel) -> str | None:
    """What around the changed operators is not the same; None for nothing."""
    if _frame(old) != _frame(new):
        return "inputs, outputs, signatures, metadata or other properties of the model differ"
    bodies = zip(old.subgraphs[1:], new.subgraphs[1:], strict=True)
    differing = (
        number for number, (before, after) in enumerate(bodies, 1) if [*_parts(old, before)] != [*_parts(new, after)]
    )
    number = next(differing, 0)
    return f"subgraph {number}, which is not run for the proof, differs" if number else None


def sizes_fault(
    old: tuple[TfliteModel, Mapping[int, LoadedTensor]], new: tuple[TfliteModel, Mapping[int, LoadedTensor]]
) -> str | None:
    """A tensor whose stated sizes are not those that the kernels work out, though they were before; None for none.

    Each model comes with its main subgraph's tensors as they are laid out. TensorFlow Lite Micro takes those stated.
    """
    known = {*_disagreeing(*old)}
    wrong = next((index for index in _disagreeing(*new) if index not in known), None)
    if wrong is None:
        return None
    tensor, shape = new[0].subgraphs[0].tensors[wrong], new[1][wrong].shape
    return f"tensor `{tensor.name}` states shape {list(tensor.shape)}, its operator makes {list(shape)}"


def _disagreeing(model: TfliteModel, loaded: Mapping[int, LoadedTensor]) -> Iterator[int]:
    graph = model.subgraphs[0]
    for operator in graph.operators:
        for index in operator.outputs:
            if index in loaded and loaded[index].shape != graph.tensors[index].shape:
                yield index


def _frame(model: TfliteModel) -> list[Any]:
    """The model without its operators, the tensors between them, and the memory plan made for these."""
    main = model.subgraphs[0]
    ends = [main.tensors[index]._replace(buffer=0) for index in (*main.inputs, *main.outputs)]
    metadata = [(name, model.bytes_of(buffer)) for name, buffer in model.metadata if name != OFFLINE_PLAN]
    interface = [(graph.name, graph.inputs, graph.outputs) for graph in model.subgraphs]
    return [model.version, model.description, model.signatures, metadata, interface, ends]


def _parts(model: TfliteModel, subgraph: Subgraph) -> Iterator[Any]:
    """Everything in a subgraph, wherever it lies in the file."""
    for tensor in subgraph.tensors:
        yield tensor._replace(buffer=0), model.bytes_of(tensor.buffer)
    for operator in subgraph.operators:
        start, length = operator.custom_options
        yield operator._replace(span=NOWHERE, custom_options=NOWHERE), bytes(model.data[start : start + length])
