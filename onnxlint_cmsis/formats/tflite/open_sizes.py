"""Sizes of `.tflite` inputs that the author left open, and files with sizes that the user gives.

A converter writes 1 in `shape` for a size that it does not know, and -1 in `shape_signature`. A batch of 1 is what a
device runs; a height of 1 is a placeholder. Here such a size becomes -1 in `shape`, wherever the signature has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.model_error import ModelError

OPEN = -1


def is_open(tensor: TfliteTensor) -> bool:
    """Tell if a size of a tensor is a placeholder, once `with_open_sizes` or `with_input_shapes` has seen its file."""
    return any(pair == (OPEN, OPEN) for pair in zip(tensor.shape, tensor.signature, strict=False))


def with_open_sizes(model: TfliteModel) -> TfliteModel:
    """The file with its placeholders open; as it is where a batch alone is unknown."""
    main = model.subgraphs[0]
    if not any(OPEN in main.tensors[number].signature[1:] for number in main.inputs):
        return model
    return _with_shapes(
        model, {number: opened(main.tensors[number], number in main.inputs) for number in range(len(main.tensors))}
    )


def opened(tensor: TfliteTensor, is_input: bool) -> tuple[int, ...]:
    """Shape with -1 where the signature has it; the batch of an input stays 1."""
    if len(tensor.signature) != len(tensor.shape):
        return tensor.shape
    pairs = [*zip(tensor.shape, tensor.signature, strict=True)]
    kept = 1 if is_input and len(pairs) > 1 else 0
    return tuple(size if axis < kept or known != OPEN else OPEN for axis, (size, known) in enumerate(pairs))


def with_input_shapes(model: TfliteModel, given: Mapping[str, tuple[Size, ...]], names: tuple[str, ...]) -> TfliteModel:
    """The file with sizes for its inputs, `names` of which are the keys in the graph; None leaves a size as it is.

    Raises ModelError (`input-shape`) for a name or a number of sizes that the model does not have, and for another size
    than the file fixes.
    """
    main = model.subgraphs[0]
    inputs = {names[number]: number for number in main.inputs}
    shapes = {number: opened(main.tensors[number], True) for number in main.inputs}
    for name, sizes in given.items():
        if name not in inputs:
            there = ", ".join(f"`{key}` {_text(shapes[number])}" for key, number in inputs.items()) or "none"
            raise ModelError("input-shape", f"no input `{name}`; the model's inputs: {there}")
        tensor, shape = main.tensors[inputs[name]], shapes[inputs[name]]
        fits = len(sizes) == len(shape) and all(
            size in (None, stated) or open_ == OPEN
            for size, stated, open_ in zip(sizes, tensor.shape, tensor.signature or shape, strict=False)
        )
        if not fits:
            raise ModelError("input-shape", f"input `{name}` is {_text(shape)}, which {_text(sizes)} does not fit")
        shapes[inputs[name]] = tuple(
            stated if size is None else size for size, stated in zip(sizes, shape, strict=True)
        )
    return _with_shapes(model, shapes)


def with_results(model: TfliteModel, computed: Mapping[int, tuple[int, ...]]) -> TfliteModel:
    """The file with the sizes that results have; open ones where these do not follow and the signature has them."""
    main = model.subgraphs[0]
    results = {number for operator in main.operators for number in operator.outputs}
    return _with_shapes(model, {n: computed.get(n, opened(main.tensors[n], False)) for n in results})


def _with_shapes(model: TfliteModel, shapes: Mapping[int, tuple[int, ...]]) -> TfliteModel:
    main = model.subgraphs[0]
    tensors = tuple(
        tensor._replace(shape=shapes.get(number, tensor.shape)) for number, tensor in enumerate(main.tensors)
    )
    return model._replace(subgraphs=(main._replace(tensors=tensors), *model.subgraphs[1:]))


def _text(shape: tuple[Size, ...]) -> str:
    return "x".join("?" if size in (None, OPEN) else str(size) for size in shape) or "a scalar"
