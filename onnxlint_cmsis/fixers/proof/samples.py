"""Samples of a user, and the ranges of a model's tensors over them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onnxlint_cmsis.analysis.fraction_bits import RealRange
from onnxlint_cmsis.fixers.proof.inputs import Input, UnfedError
from onnxlint_cmsis.fixers.proof.onnx_model import OnnxModel
from onnxlint_cmsis.fixers.proof.proven import RuntimeRefusalError
from onnxlint_cmsis.formats.onnx.inlined import inlined
from onnxlint_cmsis.ground.errors import CalibrationError, NotAppliedError
from onnxlint_cmsis.ground.files import MODEL, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import InputShapes

Arrays = dict[str, Any]
_TOGETHER = 64
"""Tensors read in one run."""
SAMPLES = (".npy", ".npz")
"""Suffixes of files that are read in a folder."""


class Samples(NamedTuple):
    """A model that runs, with the inputs of its user."""

    model: OnnxModel
    """The model, its external data inside."""
    feeds: tuple[Arrays, ...]
    """Inputs by name, for one run each."""
    path: str
    """Where they come from, as the user named it."""

    def run(self, model: OnnxModel, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Tensors of `model` on each sample, in groups small enough to be held. Raises CalibrationError."""
        try:
            session = model.session(model.plain_level, names)
            for first in range(0, len(names), _TOGETHER):
                some = names[first : first + _TOGETHER]
                for feed in self.feeds:
                    yield dict(zip(some, session.run(feed, some), strict=True))
        except RuntimeRefusalError as error:
            raise CalibrationError(f"ONNX Runtime does not run the model on {self.path}: {error}") from None


def samples_of(data: bytes, shapes: InputShapes, path: str, beside: Path | None = None) -> Samples:
    """Samples of a file, or of all .npy and .npz files of a folder in the order of their names.

    An .npy file is for a model with one input, an .npz file has an array for each input. The first axis of an array
    counts samples. It is a further axis, or replaces a batch of 1. External data of the model lie beside `beside`.

    Raises:
        CalibrationError: a file cannot be read, does not fit, or the model cannot be fed.

    """
    try:
        model = OnnxModel(inlined(data, beside))
        inputs = model.inputs(shapes)
    except (UnfedError, NotAppliedError) as error:
        raise CalibrationError(f"{path}: {error}") from None
    paths = [path]
    if Path(path).is_dir():
        paths = sorted(str(file) for file in Path(path).iterdir() if file.suffix in SAMPLES)
        if not paths:
            raise CalibrationError(f"{path}: a folder without .npy and .npz files")
    return Samples(model, tuple(feed for file in paths for feed in _samples(file, inputs)), path)


def tensor_ranges(samples: Samples) -> Mapping[str, RealRange]:
    """Least and largest value of every float tensor over all samples. Raises CalibrationError."""
    ranges: dict[str, RealRange] = {}
    for feed in samples.feeds:
        _widen(ranges, feed)
    for values in samples.run(samples.model, samples.model.computed()):
        _widen(ranges, values)
    return ranges


def _widen(ranges: dict[str, RealRange], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.size:
            low, high = float(array.min()), float(array.max())
            known = ranges.get(name)
            ranges[name] = RealRange(min(low, known.low), max(high, known.high)) if known else RealRange(low, high)


def _samples(path: str, inputs: list[Input]) -> Iterator[Arrays]:
    arrays = _loaded(path, [model_input.name for model_input in inputs])
    cut = {model_input.name: _cut(path, model_input, arrays[model_input.name]) for model_input in inputs}
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
            sizes = sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(data)).infolist())
            if sizes > MODEL:
                raise CalibrationError(f"{path}: its arrays have {sizes} bytes; {MODEL} are read at most")
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = dict(loaded) if hasattr(loaded, "files") else {names[0]: loaded}
    except OSError as error:
        raise CalibrationError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise CalibrationError(f"{path}: not an .npy or .npz file that NumPy reads: {error}") from None
    missing = [name for name in names if name not in arrays]
    if missing:
        raise CalibrationError(f"{path}: it has no array for {', '.join(missing)}; it has {', '.join(sorted(arrays))}")
    return arrays


def _cut(path: str, model_input: Input, array: Any) -> list[Any]:
    """The samples of an input, each in its shape and type."""
    fixed = [size if isinstance(size, int) else None for size in model_input.shape]
    rank = len(fixed)
    if array.dtype.kind not in "biuf" or not np.isfinite(array.astype(np.float64)).all():
        problem = f"{model_input.name} has {array.dtype} or values that are not finite"
        raise CalibrationError(f"{path}: {problem}; numbers are due")
    one_image = array.ndim == rank and rank and fixed[0] in (None, 1)
    whole = array if array.ndim == rank + 1 else array[:, None] if one_image else array[None]
    if whole.ndim != rank + 1 or any(size not in (None, got) for size, got in zip(fixed, whole.shape[1:], strict=True)):
        raise CalibrationError(f"{path}: {model_input.name} has shape {array.shape}; the input has {model_input.shape}")
    return [np.asarray(sample, model_input.dtype) for sample in whole]
