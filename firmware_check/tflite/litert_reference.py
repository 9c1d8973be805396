"""LiteRT's answers: every tensor of a `.tflite` model, and what one operator makes of given inputs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.fixers.proof.litert_process import LiteRtProcess, litert_missing, runnable
from onnxlint_cmsis.fixers.proof.proven import RuntimeRefusalError
from onnxlint_cmsis.formats.tflite.one_operator import one_operator
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import main_keys

if TYPE_CHECKING:
    from firmware_check.onnx_answers import Arrays
    from firmware_check.program import Step
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel


SMALL = ("int8", "uint8", "int16")
MISSING = "LiteRT, which every layer is compared with, is not installed: pip install 'onnxlint-cmsis[tflite]'"


class LiteRtReference:
    """A model in LiteRT with its reference kernels; tensors go by their keys in the graph."""

    runtime = "LiteRT"
    """Name in messages."""

    def __init__(self, model: TfliteModel) -> None:
        """FirmwareError where LiteRT is not there or does not take the model."""
        if litert_missing():
            raise FirmwareError(MISSING)
        self._model = model
        self._data = runnable(model)
        self._process = _started(self._data)
        self._keys = main_keys(model)
        self._index = {key: index for index, key in enumerate(self._keys)}
        self._makers = {
            self._keys[output]: number
            for number, operator in enumerate(model.subgraphs[0].operators)
            for output in operator.outputs
        }
        self._alone: dict[int, LiteRtProcess] = {}

    def random_inputs(self, seed: int, count: int, ranges: dict[str, tuple[float, float]]) -> list[Arrays]:
        """Sets of model inputs from a seed; `ranges` has the real range of a float input where it is known."""
        generator = np.random.default_rng(seed)
        inputs = self._model.subgraphs[0].inputs
        return [{self._keys[index]: self._random(index, generator, ranges) for index in inputs} for _ in range(count)]

    def _random(self, index: int, generator: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> Any:
        known = self._process.tensors[index]
        if known.dtype in SMALL:
            info = np.iinfo(known.dtype)
            return generator.integers(info.min, info.max + 1, known.shape).astype(known.dtype)
        low, high = ranges.get(self._keys[index], (-1.0, 1.0))
        return generator.uniform(low, high, known.shape).astype(known.dtype)

    def tensors(self, names: list[str], inputs: Arrays) -> Arrays:
        """Values of any tensors of the model for one set of inputs."""
        wanted = [name for name in dict.fromkeys(names) if name not in inputs]
        feed = {self._index[name]: value for name, value in inputs.items()}
        arrays = dict(zip(wanted, self._run(self._process, feed, [self._index[name] for name in wanted]), strict=True))
        return {name: inputs[name] if name in inputs else arrays[name] for name in names}

    def layer(self, step: Step, inputs: Arrays) -> np.ndarray:
        """What one operator makes of its inputs, which are given under the keys of their tensors."""
        output = self._index[step.output.tensor]
        number = self._makers[step.output.tensor]
        feed = {self._index[name]: value for name, value in inputs.items()}
        if number not in self._alone:
            self._alone[number] = _started(one_operator(self._data, number, list(feed), [output]))
        return np.asarray(self._run(self._alone[number], feed, [output])[0])

    def _run(self, process: LiteRtProcess, feed: dict[int, Any], wanted: list[int]) -> list[Any]:
        try:
            values = process.run(feed, wanted)
        except RuntimeRefusalError as error:
            raise FirmwareError(f"{self._model.path}: LiteRT does not run the model: {error}") from None
        if any(value is None for value in values):
            raise FirmwareError(f"{self._model.path}: LiteRT keeps no value of a tensor that is asked for")
        for index, value in zip(wanted, values, strict=True):
            stated = self._model.subgraphs[0].tensors[index].shape
            if value.size != prod(stated):
                raise FirmwareError(
                    f"{self._model.path}: LiteRT makes {list(value.shape)} of '{self._keys[index]}', and the file says "
                    f"{list(stated)}, for which the device has room; convert it with the sizes that it is to run with"
                )
        return values


def _started(data: bytes) -> LiteRtProcess:
    try:
        return LiteRtProcess(data)
    except RuntimeRefusalError as error:
        raise FirmwareError(f"LiteRT does not take the model: {error}") from None


def opened(path: str) -> TfliteModel:
    """The file, read. FirmwareError where it cannot be read."""
    from onnxlint_cmsis.model.model_error import ModelError

    try:
        return read_tflite(path)
    except ModelError as error:
        raise FirmwareError(error.message) from None
