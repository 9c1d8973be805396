"""A parsed model with the way back to its file: payloads, node ranges, external data."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.formats.format import is_model
from onnxlint_cmsis.formats.onnx import wire
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES, TYPED_FIELDS, decode, elem_bits, elem_name, tensor_values
from onnxlint_cmsis.formats.onnx.wire import Buffer, External, Payload, all_tensors
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.graph import MAX_VALUES, ModelError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto, TensorProto

    from onnxlint_cmsis.model.graph import Number


# External data: only files inside the model's folder, and only as far as they reach.


NOT_FETCHED = "lie beside a model that is no local file, and are not fetched"
"""What is said of external data of a model that was read from a URL."""


class ExternalError(Exception):
    """External data that are refused or missing."""


class LinkError(ExternalError):
    """External data in a file that is refused, which is said once for all tensors in it."""


def location(tensor: TensorProto, model_path: str, problems: list[Problem]) -> External:
    """Where a tensor's external values are; a Problem and no location where they cannot or must not be read."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        external = External(entries.get("location", ""), _number(entries, "offset", 0), _number(entries, "length", -1))
        _check(external, tensor, model_path)
    except LinkError as error:
        problem = Problem("external", f"external data {error}")
        if problem not in problems:
            problems.append(problem)
        return External("", 0, 0)
    except ExternalError as error:
        problems.append(Problem("external", f"tensor `{tensor.name}`: external data {error}"))
        return External("", 0, 0)
    return external


def read_values(model_path: str, external: External, data_type: int, count: int) -> tuple[Number, ...] | None:
    """Values of a small external tensor; None where the file cannot be read or the type has no fixed size."""
    bits = elem_bits(data_type)
    raw = read_bytes(model_path, external, packed_bytes(count, bits))
    return None if raw is None else decode(elem_name(data_type), bits, count, raw)


def read_bytes(model_path: str, external: External, needed: int) -> bytes | None:
    """Bytes of an external tensor; None where the file is refused, cannot be read or ends before."""
    try:
        with _resolve(external.location, model_path).open("rb") as file:
            file.seek(external.offset)
            data = file.read(needed)
    except (ExternalError, OSError):
        return None
    return data if len(data) == needed else None


def _number(entries: dict[str, str], key: str, default: int) -> int:
    """A non-negative integer among the entries."""
    text = entries.get(key, "")
    if text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ExternalError(f"have {key} {text!r}; allowed is a number of bytes from 0")
    return int(text)


def _check(external: External, tensor: TensorProto, model_path: str) -> None:
    """Raise ExternalError unless the file is allowed, there and long enough."""
    needed = packed_bytes(math.prod(tensor.dims), elem_bits(tensor.data_type))
    if (
        external.length >= 0
        and external.length != needed
        and elem_bits(tensor.data_type)
        and min(tensor.dims, default=0) >= 0
    ):
        shape = list(tensor.dims)
        raise ExternalError(f"have {external.length} bytes; {elem_name(tensor.data_type)} {shape} takes {needed}")
    path = _resolve(external.location, model_path)
    if model_path == "-":
        return
    if "://" in model_path:
        raise ExternalError(NOT_FETCHED)
    try:
        if not path.is_file():
            raise ExternalError(f"are in {external.location!r}, which is not a file beside the model")
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise ExternalError(f"are in {external.location!r}, which cannot be read: {error}") from None
    if external.offset + max(needed, 0) > size:
        raise ExternalError(
            f"are at bytes {external.offset} to {external.offset + needed} of {external.location!r}, which has {size}"
        )


def _resolve(name: str, model_path: str) -> Path:
    """The file meant: by a relative path without `..`, in the model's folder behind all links, and no model."""
    if not name:
        raise ExternalError("have no location")
    pure, windows = PurePosixPath(name), PureWindowsPath(name)
    if pure.is_absolute() or windows.drive or windows.root:
        raise ExternalError(f"have the absolute path {name!r}; allowed is a path relative to the model's folder")
    if ".." in pure.parts or ".." in windows.parts or "\0" in name:
        raise ExternalError(f"have the path {name!r}; allowed is a path inside the model's folder, without `..`")
    folder = Path(model_path).parent
    path = folder / name
    try:
        real, home = path.resolve(), folder.resolve()
        if home not in real.parents:
            raise LinkError(f"have the path {name!r}, which is a symbolic link out of the model's folder")
        if real == Path(model_path).resolve() or _same(path, model_path):
            raise LinkError(f"have the path {name!r}, which is the model itself; a fix would put other bytes there")
        if is_model(real.name):
            text = f"have the path {name!r}, which is named like a model; a fix of that would put other bytes there"
            raise LinkError(text)
    except (OSError, RuntimeError, ValueError) as error:
        raise ExternalError(f"have the path {name!r}, which cannot be read: {error}") from None
    return real


def _same(path: Path, model_path: str) -> bool:
    """Whether a path is another name (hard link) of the model's file."""
    return path.exists() and Path(model_path).exists() and path.samefile(model_path)


def external_locations(data: bytes) -> tuple[str, ...]:
    """Where a model says that its external data are, once each; none for what is no model, which its reader tells."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        tensors = list(all_tensors(ModelProto.FromString(wire.strip(data).model)))
    except (ModelError, DecodeError):
        return ()
    entries = (entry for tensor in tensors for entry in tensor.external_data if entry.key == "location")
    return tuple(dict.fromkeys(entry.value for entry in entries if isinstance(entry.value, str)))


# A parsed model with the way back to its file: payloads, node ranges, external files.


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
        wire.reject_other_files(buffer)
        self.stripped = wire.strip(buffer)
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
        stripped = wire.all_tensors(self.model) if self.stripped.payloads else ()
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
                with _resolve(name, self.path).open("rb") as file:
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
            wire.explain_rejection(self.buffer, self.stripped.nodes)
            raise ModelError("not-a-model", f"not an ONNX model: protobuf says {error}") from None
        if not self.stripped.has_graph or not (model.ir_version or model.opset_import):
            raise ModelError(
                "not-a-model",
                "not an ONNX model: a ModelProto has a graph and an IR or operator set version, this has not",
            )
        require_text(wire.all_names(model))
        return model

    def _detach_external(self) -> None:
        """Take external tensors out of the copy, so that no code of ONNX goes looking for their files."""
        if b"location" not in self.stripped.model:
            return
        outside = [t for t in wire.all_tensors(self.model) if t.data_location == t.EXTERNAL]
        for tensor in outside:
            self._detach(tensor)
        if outside and self.checkable:
            self.checkable = self.model.SerializeToString()

    def _detach(self, tensor: TensorProto) -> None:
        """Put a single zero in place of a tensor that lies in another file."""
        require_text(wire.external_names(tensor))
        payload = Payload((0, 0), 0, 0, {}, tuple(tensor.dims))
        payload.external = location(tensor, self.path, self.problems)
        link = f"{self.stripped.link}{len(self.stripped.payloads)}"
        self.stripped.payloads.append(payload)
        name, data_type = tensor.name, tensor.data_type
        tensor.ParseFromString(wire.placeholder(data_type == wire.STRING, link))
        tensor.name, tensor.data_type = name, data_type


MARK = "\x01made up\x01"
"""What stands in names that shape inference makes up; no file has it."""


def require_text(names: Iterable[str | bytes]) -> None:
    """Raise ModelError (`not-a-model`) for a name that is not UTF-8, or has the mark of those that are made up."""
    for name in names:
        if type(name) is not str or MARK in name:
            raise ModelError("not-a-model", f"not an ONNX model: a name is not UTF-8 text: {name!r:.60}")


# Elements of a TensorProto as bit patterns, so that rearranging them changes no bit of any type.


Codes = npt.NDArray[Any]

FIELD_TYPES = {
    "float_data": "<f4",
    "double_data": "<f8",
    "int64_data": "<i8",
    "uint64_data": "<u8",
    "int32_data": "<i4",
}
"""numpy's type of the entries of each typed field."""

BITS = dict(ELEM_TYPES.values())
"""Bits of an element by the type's name."""
ONES = {"float16": 0x3C00, "bfloat16": 0x3F80, "float32": 0x3F800000, "float64": 0x3FF0000000000000}
"""Bit pattern of 1.0."""
INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
"""Bit pattern of infinity; those between 0 and it are the positive finite numbers."""


def read(tensor: TensorProto, path: str) -> Codes:
    """Bit patterns in the tensor's shape; external data are read from beside the model at `path`.

    Raises NotAppliedError for texts, complex numbers, and payloads that do not fit the shape, UnreadableError for
    external data that are refused or missing.
    """
    name, bits, shape = elem_name(tensor.data_type), elem_bits(tensor.data_type), tuple(tensor.dims)
    if bits not in (2, 4, 8, 16, 32, 64) or name.startswith("complex"):
        raise NotAppliedError(f"tensor `{tensor.name}` is of type {name or tensor.data_type}, which is not resized")
    needed = packed_bytes(math.prod(shape), bits)
    raw = _external(tensor, path, needed) if tensor.data_location == tensor.EXTERNAL else stored_bytes(tensor)
    if len(raw) != needed:
        raise NotAppliedError(f"tensor `{tensor.name}` has {len(raw)} bytes, which do not fit its shape {list(shape)}")
    return unpacked(raw, bits, shape)


def unpacked(raw: bytes, bits: int, shape: tuple[int, ...]) -> Codes:
    """Bit patterns in a shape from bytes that fit it; of several in a byte the lowest comes first."""
    whole = np.frombuffer(raw, np.dtype(f"<u{max(bits // 8, 1)}"))
    if bits < 8:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        whole = (whole[:, None] >> shifts & (1 << bits) - 1).reshape(-1)[: math.prod(shape)].astype(np.uint8)
    return whole.reshape(shape)


def require_readable(model: ModelProto, path: str) -> None:
    """Raise UnreadableError where a file with external data of a model at `path` cannot be opened; read nothing."""
    for tensor in all_tensors(model):
        if tensor.data_location == tensor.EXTERNAL:
            _external(tensor, path, 0)


def write(tensor: TensorProto, codes: Codes) -> None:
    """Give a tensor these elements and their shape, as raw data inside the model."""
    name, data_type, doc = tensor.name, tensor.data_type, tensor.doc_string
    metadata = [(entry.key, entry.value) for entry in getattr(tensor, "metadata_props", ())]
    tensor.Clear()
    tensor.name, tensor.data_type = name, data_type
    if doc:
        tensor.doc_string = doc
    for key, value in metadata:
        tensor.metadata_props.add(key=key, value=value)
    tensor.dims.extend(codes.shape)
    tensor.raw_data = packed(codes, elem_bits(data_type))


def number(elem_type: str, value: int) -> int:
    """Bit pattern of a small whole number. Raises NotAppliedError where the type has none that is known here."""
    bits = BITS[elem_type]
    if value == 0 or "int" in elem_type:
        return value & (1 << bits) - 1
    if elem_type == "bool":
        return int(bool(value))
    if value == 1 and elem_type in ONES:
        return ONES[elem_type]
    raise NotAppliedError(f"new elements of type {elem_type} would have to be {value}")


def first(codes: Codes, elem_type: str) -> int:
    """Bit pattern of the first element that can serve as a scale or zero-point: positive and finite, or any integer."""
    flat = codes.reshape(-1)
    if elem_type in INFINITIES:
        flat = flat[(flat > 0) & (flat < INFINITIES[elem_type])]
    if not flat.size:
        raise NotAppliedError("no scale is positive and finite")
    return int(flat[0])


def added(codes: Codes, elem_type: str, increments: npt.NDArray[np.generic]) -> Codes:
    """Elements plus increments along their one long axis.

    Raises NotAppliedError where the counts differ, where an integer would overflow or a number not be finite.
    """
    if codes.size != increments.size:
        raise NotAppliedError(f"{increments.size} increments for a bias of {codes.size}")
    kind = np.dtype(elem_type)
    old = codes.view(kind.newbyteorder("<")).reshape(-1)
    if kind.kind == "f":
        total = (old.astype(np.float64) + increments.astype(np.float64)).astype(kind)
        fits = bool(np.isfinite(total).all())
    else:
        wide = old.astype(object) + increments.astype(object)
        limits = np.iinfo(kind)
        fits = all(limits.min <= int(value) <= limits.max and value == int(value) for value in wide)
        total = wide.astype(kind) if fits else old
    if not fits:
        raise NotAppliedError(f"the bias would not fit {elem_type}")
    return np.ascontiguousarray(total).view(codes.dtype).reshape(codes.shape)


def stored_bytes(tensor: TensorProto) -> bytes:
    """Little-endian bytes of the values that a tensor holds itself, in raw data or in a typed list.

    Empty for a list with a number that the type does not have: runtimes make different numbers of it.
    """
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    field, bits = TYPED_FIELDS.get(elem_name(tensor.data_type), "int32_data"), elem_bits(tensor.data_type)
    entries = np.array(getattr(tensor, field), dtype=FIELD_TYPES[field])
    if field in ("int32_data", "uint64_data") and bits < entries.itemsize * 8:
        size = max(bits, 8) // 8
        narrow = entries.view(f"<u{entries.itemsize}").astype(f"<u{size}")
        signed = narrow.view(f"<i{size}")
        known = (entries == narrow) | (entries == signed) if tensor.data_type != tensor.BOOL else entries >> 1 == 0
        return narrow.tobytes() if known.all() else b""
    return bytes(entries.tobytes())


def _external(tensor: TensorProto, path: str, needed: int) -> bytes:
    if path == "-":
        raise UnreadableError("external data of a model that is not read from a file are out of reach")
    problems: list[Problem] = []
    external = location(tensor, path, problems)
    if problems:
        raise UnreadableError(problems[0].message)
    raw = read_bytes(path, external, needed)
    if raw is None:
        raise UnreadableError(
            f"tensor `{tensor.name}`: external data are in {external.location!r}, which cannot be read"
        )
    return bytes(raw)


def packed(codes: Codes, bits: int) -> bytes:
    """Bytes of bit patterns; of several in a byte the first is the lowest."""
    if bits >= 8:
        return bytes(np.ascontiguousarray(codes).astype(codes.dtype.newbyteorder("<"), copy=False).tobytes())
    per_byte = 8 // bits
    flat = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    flat[: codes.size] = codes.reshape(-1)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(flat.reshape(-1, per_byte) << shifts, axis=1).astype(np.uint8).tobytes())


# A model's bytes with its external data inside.


def inlined(data: bytes, beside: Path | None) -> bytes:
    """A model's bytes with external data, which lie beside the file `beside`, made part of it.

    Raises NotAppliedError for external data that are refused or missing.
    """
    from onnx import ModelProto

    if b"location" not in data:
        return data
    parsed = ModelProto.FromString(data)
    for tensor in all_tensors(parsed):
        if tensor.data_location == tensor.EXTERNAL:
            write(tensor, read(tensor, str(beside or "-")))
    inlined_model: bytes = parsed.SerializeToString()
    return inlined_model
