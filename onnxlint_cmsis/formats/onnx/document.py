"""A parsed model with the way back to its file: payloads, node ranges, external files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx import opening, strip, walk
from onnxlint_cmsis.formats.onnx.decoding import tensor_values
from onnxlint_cmsis.formats.onnx.external_data import ExternalError, location, read_values, resolve
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.onnx.without_weights import Payload
from onnxlint_cmsis.model.graph import MAX_VALUES, Number, Problem
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto, TensorProto


MAX_ELEMENT_BYTES = 16
"""Bytes that one number takes at most in a file (complex128)."""
MAX_FILE = 2**31 - 1
"""Bytes of the largest message protobuf can read."""


class Document:
    """A model without its weights, and where they are."""

    def __init__(self, path: str, buffer: Buffer) -> None:
        self.path = path
        """File as the user named it; `-` for standard input."""
        self.buffer = buffer
        """Its bytes."""
        self.problems: list[Problem] = []
        """What is wrong with it."""
        opening.reject_other_files(buffer)
        self.stripped = strip.strip(buffer)
        """Copy without weights."""
        self.model = self._parse()
        """The parsed copy; tensors with large payloads have none."""
        self.checkable = b"" if self.stripped.in_sparse else self.stripped.model
        """Bytes for onnx.checker: large tensors are single zeros; empty where a sparse tensor has such."""
        self._detach_external()
        for opset in self.model.opset_import:
            if self.checkable and opset.domain and not domain_of(opset.domain):
                more = type(self.model)()
                more.opset_import.add(domain="", version=opset.version)
                self.checkable += more.SerializeToString()  # older checkers do not know the alias
        stripped = walk.all_tensors(self.model) if self.stripped.payloads else ()
        for tensor, payload in ((tensor, self.payload(tensor)) for tensor in stripped):
            if payload is not None:  # a stripped tensor gets its dims back
                del tensor.dims[:]
                tensor.dims.extend(payload.dims)
        if len(buffer) > MAX_FILE:
            self.problems.append(
                Problem(
                    "invalid",
                    f"the file has {len(buffer)} bytes; protobuf reads at most {MAX_FILE} (use external data)",
                )
            )

    def payload(self, tensor: TensorProto) -> Payload | None:
        """Where the values of a stripped tensor are; None for a tensor that is whole."""
        link, start = tensor.doc_string, self.stripped.link
        if not isinstance(link, str) or not link.startswith(start):
            return None
        return self.stripped.payloads[int(link[len(start) :])]

    def values(self, tensor: TensorProto) -> tuple[Number, ...] | None:
        """Flat values of a tensor, read from the file if need be; None where too many or unreadable."""
        from onnx import TensorProto as Proto

        count = math.prod(tensor.dims)
        if not 0 <= count <= MAX_VALUES:
            return None
        payload = self.payload(tensor)
        if payload is None:
            return tensor_values(tensor)
        if payload.external is not None:
            return read_values(self.path, payload.external, tensor.data_type, count)
        start, length = payload.message
        if length > MAX_ELEMENT_BYTES * count + 65536:
            return None
        try:
            return tensor_values(Proto.FromString(self.buffer[start : start + length]))
        except Exception:  # protobuf's DecodeError: a list that was not looked into before
            return None

    def digest(self) -> bytes | None:
        """SHA-256 of the file and of the files with its external data; None where one of these cannot be read."""
        import hashlib

        whole = hashlib.sha256(self.buffer)
        outside = [payload.external for payload in self.stripped.payloads if payload.external is not None]
        try:
            for name in dict.fromkeys(external.location for external in outside):
                held = hashlib.sha256()
                with resolve(name, self.path).open("rb") as file:
                    while part := file.read(1 << 20):
                        held.update(part)
                whole.update(held.digest())
        except (ExternalError, OSError):
            return None
        return None if outside and self.path == "-" else whole.digest()

    def _parse(self) -> ModelProto:
        """Protobuf's reading of the stripped copy."""
        from onnx import ModelProto

        try:
            model: ModelProto = ModelProto.FromString(self.stripped.model)
        except Exception as error:  # protobuf's DecodeError, whose module has no types
            strip.explain_rejection(self.buffer, self.stripped.nodes)
            raise ModelError("not-a-model", f"not an ONNX model: protobuf says {error}") from None
        if not self.stripped.has_graph or not (model.ir_version or model.opset_import):
            raise ModelError(
                "not-a-model",
                "not an ONNX model: a ModelProto has a graph and an IR or operator set version, this has not",
            )
        require_text(walk.all_names(model))
        return model

    def _detach_external(self) -> None:
        """Take external tensors out of the copy, so that no code of ONNX goes looking for their files."""
        if b"location" not in self.stripped.model:
            return
        outside = [t for t in walk.all_tensors(self.model) if t.data_location == t.EXTERNAL]
        for tensor in outside:
            self._detach(tensor)
        if outside and self.checkable:
            self.checkable = self.model.SerializeToString()

    def _detach(self, tensor: TensorProto) -> None:
        """Put a single zero in place of a tensor that lies in another file."""
        require_text(walk.external_names(tensor))
        payload = Payload((0, 0), 0, 0, {}, tuple(tensor.dims))
        payload.external = location(tensor, self.path, self.problems)
        link = f"{self.stripped.link}{len(self.stripped.payloads)}"
        self.stripped.payloads.append(payload)
        name, data_type = tensor.name, tensor.data_type
        tensor.ParseFromString(strip.placeholder(data_type == strip.STRING, link))
        tensor.name, tensor.data_type = name, data_type


MARK = "\x01made up\x01"
"""What stands in names that shape inference makes up; no file has it."""


def require_text(names: Iterable[str | bytes]) -> None:
    """Raise ModelError (`not-a-model`) for a name that is not UTF-8, or has the mark of those that are made up."""
    for name in names:
        if type(name) is not str or MARK in name:
            raise ModelError("not-a-model", f"not an ONNX model: a name is not UTF-8 text: {name!r:.60}")
