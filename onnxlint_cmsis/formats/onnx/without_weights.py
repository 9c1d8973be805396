"""What is left of a model without the bytes of its weights."""

from __future__ import annotations

import os

Range = tuple[int, int]
"""Offset and length of a message's body in the file."""


UNKNOWN_RANGE = (-1, -1)
"""Range of a message that the file does not hold."""


class Payload:
    """Where the values of a stripped tensor are in the file."""

    __slots__ = ("counts", "dims", "external", "length", "message", "offset")

    def __init__(self, message: Range, offset: int, length: int, counts: dict[str, int], dims: tuple[int, ...]) -> None:
        self.message = message
        """Byte range of the TensorProto."""
        self.offset = offset
        """First byte of the (last) field with values."""
        self.length = length
        """Its bytes."""
        self.counts = counts
        """Bytes per payload field."""
        self.dims = dims
        """The tensor's dims; its placeholder has none."""
        self.external: External | None = None
        """Where the values are, if in another file."""


class External:
    """Values in a file beside the model."""

    __slots__ = ("length", "location", "offset")

    def __init__(self, location: str, offset: int, length: int) -> None:
        self.location = location
        """Path relative to the model's folder."""
        self.offset = offset
        """First byte."""
        self.length = length
        """Bytes; -1 for all bytes to the end of the file."""


class Stripped:
    """The outcome of `strip`."""

    __slots__ = ("functions", "has_graph", "in_sparse", "link", "model", "nodes", "payloads")

    def __init__(self) -> None:
        self.link = f"\x01payload {os.urandom(8).hex()} "
        """Start of the doc_string that links a stripped tensor to its Payload, such as no file can hold."""
        self.model = b""
        """Serialized model without large payloads."""
        self.has_graph = False
        """False where the file has no graph at all."""
        self.in_sparse = False
        """True where a sparse tensor's payload is left out."""
        self.nodes: list[Range] = []
        """Byte ranges of the main graph's nodes, in file order."""
        self.functions: list[list[Range]] = []
        """The same for each local function."""
        self.payloads: list[Payload] = []
        """Payloads left out; a stripped tensor's doc_string holds its position here."""
