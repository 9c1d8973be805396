"""Biases whose scales name an axis that they do not have: ONNX Runtime refuses such a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto


def mended(path: str, model: onnx.ModelProto, lenient: bool, folder: Path) -> str:
    """Path of the model; with `lenient`, of a copy whose biases have scales along their own axis.

    Raises:
        FirmwareError: a bias names another axis, and the check is not lenient.

    """
    wrong = list(_wrong(model))
    if not wrong:
        return path
    if not lenient:
        node, axis = wrong[0]
        raise FirmwareError(
            f"{len(wrong)} biases of one axis have scales along another ('{node.input[0]}': axis {axis}), which ONNX"
            " Runtime refuses; --lenient reads them along their own"
        )
    whole = onnx.load(path)
    for node, _ in _wrong(whole):
        next(attribute for attribute in node.attribute if attribute.name == "axis").i = 0
    target = folder / "lenient.onnx"
    onnx.save(whole, target)
    return str(target)


def _wrong(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Dequantizations of constants of one axis along another, with that axis."""
    ranks = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if operator_of_proto(node).dequantizes and node.input and ranks.get(node.input[0]) == 1:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            if axis not in (0, -1):
                yield node, axis
