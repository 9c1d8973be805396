"""External data: only files inside the model's folder, and only as far as they reach."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.format import is_model
from onnxlint_cmsis.formats.onnx import strip
from onnxlint_cmsis.formats.onnx.decoding import decode
from onnxlint_cmsis.formats.onnx.tensors import elem_bits, elem_name
from onnxlint_cmsis.formats.onnx.walk import all_tensors
from onnxlint_cmsis.formats.onnx.without_weights import External
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.graph import Number, Problem
from onnxlint_cmsis.model.model_error import ModelError

if TYPE_CHECKING:
    from onnx import TensorProto


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
        with resolve(external.location, model_path).open("rb") as file:
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
    path = resolve(external.location, model_path)
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


def resolve(name: str, model_path: str) -> Path:
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
    """Tell whether a path is another name (hard link) of the model's file."""
    return path.exists() and Path(model_path).exists() and path.samefile(model_path)


def external_locations(data: bytes) -> tuple[str, ...]:
    """Where a model says that its external data are, once each; none for what is no model, which its reader tells."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        tensors = list(all_tensors(ModelProto.FromString(strip.strip(data).model)))
    except (ModelError, DecodeError):
        return ()
    entries = (entry for tensor in tensors for entry in tensor.external_data if entry.key == "location")
    return tuple(dict.fromkeys(entry.value for entry in entries if isinstance(entry.value, str)))
