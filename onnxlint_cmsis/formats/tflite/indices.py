"""Every index of a `.tflite` file names something that is there; otherwise the runtimes read beside their arrays."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.ground.types import MAX_AXES
from onnxlint_cmsis.model.model_error import ModelError

OMITTED = -1
"""Index of an optional input that is not given."""


MAX_NESTING = 50
"""Depth to which control flow is followed."""


def check_indices(model: TfliteModel) -> None:
    """Raise ModelError (`not-a-model`) for the first index or size that cannot be."""
    if not model.subgraphs:
        raise SCHEMA.damaged("it has no subgraph")
    for number, subgraph in enumerate(model.subgraphs):
        _check_tensors(model, number, subgraph)
        _check_operators(number, subgraph, len(model.subgraphs))
        _check_order(model, number, subgraph)
    _check_nesting(model, 0, (), {})
    for name, buffer in model.metadata:
        SCHEMA.check_indices(f"metadata '{name}'", "buffer", (buffer,), len(model.buffers))
    for signature in model.signatures:
        _check_signature(model, signature.key, signature.subgraph, (*signature.inputs, *signature.outputs))


def _check_tensors(model: TfliteModel, number: int, subgraph: Subgraph) -> None:
    for index, tensor in enumerate(subgraph.tensors):
        where = f"tensor {index} of subgraph {number}"
        SCHEMA.check_indices(where, "buffer", (tensor.buffer,), len(model.buffers))
        if len(tensor.shape) > MAX_AXES:
            raise SCHEMA.damaged(f"{where} has {len(tensor.shape)} dimensions; at most {MAX_AXES} are allowed")
        if any(size < -1 for size in tensor.shape):
            raise SCHEMA.damaged(
                f"{where} has shape {list(tensor.shape)}; a size is at least 0, or -1 where it is unknown"
            )


def _check_operators(number: int, subgraph: Subgraph, subgraphs: int) -> None:
    count = len(subgraph.tensors)
    SCHEMA.check_indices(f"subgraph {number}", "tensor", (*subgraph.inputs, *subgraph.outputs), count)
    for index, operator in enumerate(subgraph.operators):
        where = f"operator {index} ({operator.title}) of subgraph {number}"
        read = (tensor for tensor in operator.inputs if tensor != OMITTED)
        inner = (tensor for tensor in operator.intermediates if tensor != OMITTED)
        SCHEMA.check_indices(where, "tensor", (*read, *operator.outputs, *inner), count)
        SCHEMA.check_indices(where, "subgraph", (body for _, body in operator.bodies), subgraphs)


def _check_order(model: TfliteModel, number: int, subgraph: Subgraph) -> None:
    """Operators run in file order: none may read what itself or a later one computes."""
    writers: dict[int, int] = {}
    for index, operator in enumerate(subgraph.operators):
        for tensor in operator.outputs:
            if tensor in writers and not subgraph.tensors[tensor].is_variable:
                raise SCHEMA.damaged(
                    f"operators {writers[tensor]} and {index} of subgraph {number} both compute tensor {tensor}"
                )
            if model.is_constant(subgraph.tensors[tensor]):
                raise SCHEMA.damaged(f"operator {index} of subgraph {number} computes tensor {tensor}, a constant")
            writers[tensor] = index
    for index, operator in enumerate(subgraph.operators):
        for tensor in operator.inputs:
            if writers.get(tensor, -1) >= index and not subgraph.tensors[tensor].is_variable:
                where = f"operator {index} ({operator.title}) of subgraph {number}"
                raise SCHEMA.damaged(
                    f"{where} reads tensor {tensor}, which operator {writers[tensor]} computes: a cycle"
                )


def _check_nesting(model: TfliteModel, number: int, holders: tuple[int, ...], done: dict[int, int]) -> int:
    """Depth of the control flow under a subgraph, which must end."""
    if number in holders:
        raise SCHEMA.damaged(f"subgraph {number} runs itself")
    if len(holders) > MAX_NESTING:
        raise ModelError("too-deep", f"control flow is nested deeper than {MAX_NESTING} subgraphs")
    if number not in done:
        bodies = [body for operator in model.subgraphs[number].operators for _, body in operator.bodies]
        depths = [_check_nesting(model, body, (*holders, number), done) for body in dict.fromkeys(bodies)]
        done[number] = 1 + max(depths, default=0)
    if len(holders) + done[number] > MAX_NESTING + 1:
        raise ModelError("too-deep", f"control flow is nested deeper than {MAX_NESTING} subgraphs")
    return done[number]


def _check_signature(model: TfliteModel, key: str, subgraph: int, tensors: Iterable[tuple[str, int]]) -> None:
    where = f"signature '{key}'"
    SCHEMA.check_indices(where, "subgraph", (subgraph,), len(model.subgraphs))
    count = len(model.subgraphs[subgraph].tensors)
    SCHEMA.check_indices(where, "tensor", (index for _, index in tensors), count)
