"""A `.tflite` file as LiteRT takes it, where it only objects to something that counts for nothing."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.tflite.flat_file import FlatFile
from onnxlint_cmsis.formats.tflite.flat_table import table_at
from onnxlint_cmsis.graph.model import TFLITE

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.graph.model import Node

CUSTOM = ("AudioSpectrogram", "Mfcc", "NumericVerify", "TFLite_Detection_PostProcess")
"""Custom operators that LiteRT brings (core/kernels/register.cc)."""


def runnable(model: TfliteModel) -> bytes:
    """The bytes of a file, with axis 0 for scales that name an axis which their tensor does not have.

    That is for vectors and for single scales, which leave no choice. Older converters wrote axis 3 for biases of
    depthwise convolutions; LiteRT 2.3.0 refuses that, TensorFlow Lite Micro does not look at it.
    """
    made = bytearray(model.data)
    for position in _axes(model):
        struct.pack_into("<i", made, position, 0)
    return bytes(made)


def refused(node: Node) -> bool:
    """Whether LiteRT 2.3.0 refuses an operator of a `.tflite` file, so that no fix of the file can be proven.

    CONV_2D needs a bias; DEPTHWISE_CONV_2D takes two inputs, but no third one that is left out. TensorFlow Lite Micro
    computes both.
    """
    if node.domain == f"{TFLITE}.custom":
        return node.op_type not in CUSTOM
    convolves = node.domain == TFLITE and node.op_type in ("CONV_2D", "DEPTHWISE_CONV_2D")
    return convolves and (not all(node.inputs[:3]) or len(node.inputs) < 2 + (node.op_type == "CONV_2D"))


def _axes(model: TfliteModel) -> Iterator[int]:
    """Where such axes stand."""
    file = FlatFile(model.data)
    for subgraph in table_at(file, "Model", file.follow(0)).tables("subgraphs"):
        for tensor in subgraph.tables("tensors"):
            found = tensor.table("quantization")
            rank = len(tensor.ints("shape"))
            if found and (rank == 1 or len(found.floats("scale")) == 1):
                axis, place = found.number("quantized_dimension"), found.place("quantized_dimension")
                if place and axis >= max(rank, 1):
                    yield place
