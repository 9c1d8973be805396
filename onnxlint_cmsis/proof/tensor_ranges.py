"""Ranges of a model's tensors, measured by running it on a user's inputs in ONNX Runtime."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.bounded_reading import MODEL, read_regular
from onnxlint_cmsis.errors import CalibrationError
from onnxlint_cmsis.proof.inputs import UnfedError
from onnxlint_cmsis.proof.onnx_model import OnnxModel
from onnxlint_cmsis.proof.proven_model import RuntimeRefusalError
from onnxlint_cmsis.q_formats.q_number import RealRange

if TYPE_CHECKING:
    from onnxlint_cmsis.proof.inputs import Input
    from onnxlint_cmsis.types import InputShapes

Arrays = dict[str, Any]
_TOGETHER = 64
"""Tensors read in one run."""


def tensor_ranges(data: bytes, shapes: InputShapes, path: str) -> Mapping[str, RealRange]:
    """Least and largest value of every float tensor over all samples of a file.

    `path` is an .npy file for a model with one input, or an .npz file with an array for each input. The first axis of
    an array counts samples. It is a further axis, or replaces a batch of 1.

    Raises:
        CalibrationError: the file cannot be read, does not fit, or the model does not run.

    """
    model = OnnxModel(data)
    found: dict[str, RealRange] = {}
    try:
        inputs = model.inputs(shapes)
        names = model.made()
        session = model.session(model.plain_level, names)
        for feed in _samples(path, inputs):
            _widen(found, feed)
            for first in range(0, len(names), _TOGETHER):
                some = names[first : first + _TOGETHER]
                _widen(found, dict(zip(some, session.run(feed, some), strict=True)))
    except UnfedError as error:
        raise CalibrationError(f"{path}: {error}") from None
    except RuntimeRefusalError as error:
        raise CalibrationError(f"ONNX Runtime does not run the model on {path}: {error}") from None
    return found


def _widen(found: dict[str, RealRange], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.size:
            low, high = float(array.min()), float(array.max())
            known = found.get(name)
            found[name] = RealRange(min(low, known.low), max(high, known.high)) if known else RealRange(low, high)


def _samples(path: str, inputs: list[Input]) -> Iterator[Arrays]:
    arrays = _loaded(path, [each.name for each in inputs])
    cut = {each.name: _cut(path, each, arrays[each.name]) for each in inputs}
    counts = {len(samples) for samples in cut.values()}
    if len(counts) != 1:
        numbers = ", ".join(map(str, sorted(counts)))
        raise CalibrationError(f"{path}: its inputs have {numbers} samples; as many are due for each")
    for number in range(counts.pop()):
        yield {name: samples[number] for name, samples in cut.items()}


def _loaded(path: str, names: list[str]) -> Arrays:
    try:
        data = read_regular(path, MODEL)
        if zipfile.is_zipfile(io.BytesIO(data)):
            sizes = sum(each.file_size for each in zipfile.ZipFile(io.BytesIO(data)).infolist())
            if sizes > MODEL:
                raise CalibrationError(f"{path}: its arrays have {sizes} bytes; {MODEL} are read at most")
        found = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = dict(found) if hasattr(found, "files") else {names[0]: found}
    except OSError as error:
        raise CalibrationError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise CalibrationError(f"{path}: not an .npy or .npz file that NumPy reads: {error}") from None
    missing = [name for name in names if name not in arrays]
    if missing:
        raise CalibrationError(f"{path}: it has no array for {', '.join(missing)}; it has {', '.join(sorted(arrays))}")
    return arrays


def _cut(path: str, one: Input, array: Any) -> list[Any]:
    """The samples of an input, each in its shape and type."""
    fixed = [size if isinstance(size, int) else None for size in one.shape]
    rank = len(fixed)
    if array.dtype.kind not in "biuf" or not np.isfinite(array.astype(np.float64)).all():
        raise CalibrationError(f"{path}: {one.name} has {array.dtype} or values that are not finite; numbers are due")
    one_image = array.ndim == rank and rank and fixed[0] in (None, 1)
    whole = array if array.ndim == rank + 1 else array[:, None] if one_image else array[None]
    if whole.ndim != rank + 1 or any(size not in (None, got) for size, got in zip(fixed, whole.shape[1:], strict=True)):
        raise CalibrationError(f"{path}: {one.name} has shape {array.shape}; the input has {one.shape}")
    return [sample.astype(one.dtype) for sample in whole]
