"""A model opened for the check: what the linter says of it, and how large it is."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import onnx

from firmware_check.bias_axes import mended
from firmware_check.errors import FirmwareError
from firmware_check.onnx_answers import LayerReference, Reference
from firmware_check.operators import refuse_unknown
from firmware_check.operators_as_pairs import expand, is_operator_format, named_as_given
from firmware_check.quantize import is_float, quantize
from firmware_check.reading.floats import read_float_program
from firmware_check.reading.read import read_program
from onnxlint_cmsis.fixers.proof.inputs import UnfedError, refuse_large
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization, RuntimeSession
from onnxlint_cmsis.fixers.proof.proven import RuntimeRefusalError
from onnxlint_cmsis.formats.format import format_of
from onnxlint_cmsis.ground.types import FloatCall, Target

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.program import Program
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.model.graph import Graph


STDIN = "-"
MOST_NUMBERS = 2**22
"""Numbers of the largest input that is drawn; the sets to quantize with take 256 MB then."""
DAMAGED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What reading raises where a file says of one part what does not fit another."""


class Reading(NamedTuple):
    """What of a model is read in another way than it stands there."""

    lenient: bool = False
    """A bias of one axis whose scales name another axis is read along its own."""
    bias_of_zeros: bool = False
    """A layer without a bias gets one of zeros; else a NULL pointer, as runtimes pass it."""


Shapes = Mapping[str, tuple[int | None, ...]]


AS_IT_STANDS = Reading()
"""Nothing is read otherwise."""
AS_IT_ASKS = FloatCall()
"""Standard weights, and the buffer that a function for f32 or f16 asks for."""


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A quantized model, read for the firmware and for ONNX Runtime."""

    path: str
    """File as the user named it."""
    quantized_here: bool
    """Whether the file is float and was quantized for this check."""
    graph: Graph
    """The model as the linter reads it."""
    program: Program
    """Layers of the model as firmware computes them."""
    reference: LayerReference
    """The model in ONNX Runtime, in LiteRT for a `.tflite` model, in integers for a `.pte` program."""
    assume: str = ""
    """`f32` or `f16` where its layers stay float."""
    given: FloatCall = AS_IT_ASKS
    """What calls for f32 and f16 are given."""
    remarks: tuple[str, ...] = ()
    """What is to be said of the model on every board."""

    def analysis(self, target: Target) -> ModelAnalysis:
        """What the linter makes of it on a target: of other files than ONNX models the calls of their runtime."""
        from onnxlint_cmsis.analysis.analysis import ModelAnalysis
        from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings

        graph = None if format_of(self.path).interpreter else self.graph
        settings = AnalysisSettings((target,))
        if self.assume:
            settings = settings._replace(assume=self.assume, floating=self.given)
        return ModelAnalysis(self.path, settings, graph=graph)


@dataclass(frozen=True)
class Options:
    """How models are read and run."""

    input_shapes: Shapes
    """Sizes of inputs that the file leaves open."""
    calibration: str = ""
    """Folder of .npy files for float models; empty for random data."""
    seed: int = 0
    """Seed of random calibration data and random inputs."""
    runs: int = 4
    """Sets of inputs that a whole model is run on."""
    reading: Reading = AS_IT_STANDS
    """What is read in another way than it stands there."""
    assume: str = ""
    """`f32` or `f16` where layers of a float model stay float; empty where it is quantized."""
    given: FloatCall = AS_IT_ASKS
    """What calls for f32 and f16 are given."""


def open_model(path: str, library: Library, options: Options, folder: Path) -> OpenedModel:
    """Read a model, quantized into `folder` first where it is float; FirmwareError where it cannot be firmware."""
    if path == STDIN:
        raise FirmwareError("a model is read from a file, not from standard input")
    try:
        return _open(path, library, options, folder)
    except FirmwareError as error:
        raise FirmwareError(f"{path}: {error}") from None
    except onnx.checker.ValidationError as error:  # weights in another file that is not there
        raise FirmwareError(f"{path}: {str(error).splitlines()[0]}") from None
    except DAMAGED as error:
        said = (str(error).strip().splitlines() or [""])[0]
        unknown = f"its parts do not fit one another: {type(error).__name__}: {said}"
        raise FirmwareError(f"{path}: {_fault(path, options) or unknown}") from error


def _open(path: str, library: Library, options: Options, folder: Path) -> OpenedModel:
    form = format_of(path)
    opener = OPENERS.get(form.name)
    if opener is None:
        raise FirmwareError(f"no firmware is made of {form.suffix} files")
    if form.interpreter and options.input_shapes:
        raise FirmwareError(f"--input-shape is for ONNX models; a {form.suffix} file states all sizes")
    if form.interpreter and options.assume:
        raise FirmwareError(
            f"--assume {options.assume} is for ONNX models; no runtime of {form.suffix} files calls functions for it"
        )
    return opener(path, library, options, folder)


def _open_onnx(path: str, library: Library, options: Options, folder: Path) -> OpenedModel:
    """An ONNX model, quantized into `folder` first where it is float."""
    graph = read_graph(path, options)
    for name in graph.inputs:
        count = prod(size or 1 for size in graph.shape(name) or ())
        if count > MOST_NUMBERS:
            raise FirmwareError(f"input '{name}' has {count:,} numbers; inputs of up to {MOST_NUMBERS:,} are drawn")
    try:
        refuse_large(graph)
    except UnfedError as error:
        raise FirmwareError(str(error)) from None
    model = onnx.load(path, load_external_data=False)
    refuse_unknown(model)
    _refuse_what_ends_onnx_runtime(path)
    source = mended(path, model, options.reading.lenient, folder)
    graph = graph if source == path else read_graph(source, options)
    quantized = is_float(model)
    if options.assume:
        if not quantized:
            raise FirmwareError(f"--assume {options.assume} is for float models; this one is quantized")
        floats = read_float_program(source, graph, library, options.assume, options.given)
        return OpenedModel(path, False, graph, floats, Reference(source, path, graph), options.assume, options.given)
    if quantized:
        source = str(quantize(source, graph, options.calibration, options.seed, folder))
        graph = read_graph(source, options)
    program = _program(source, graph, library, options, folder if is_operator_format(model) else None)
    return OpenedModel(path, quantized, graph, program, Reference(source, path, graph))


def _refuse_what_ends_onnx_runtime(path: str) -> None:
    """FirmwareError for a model on which ONNX Runtime ends its process, which is tried in another one."""
    from onnxlint_cmsis.ground.workers import Ended, team

    with team(1) as (worker,):
        worker.give(_started, path)
        answer = worker.take()
    if isinstance(answer, Ended):
        raise FirmwareError(f"ONNX Runtime, which every layer is compared with, ends its process {answer.how} on it")


def _started(path: str) -> None:
    """Open a model in ONNX Runtime; what it refuses is told where it is opened again."""
    with contextlib.suppress(RuntimeRefusalError):
        RuntimeSession(Path(path).read_bytes(), Optimization.DEFAULT)


def _fault(path: str, options: Options) -> str:
    """What is wrong with an ONNX model, as the linter tells it; empty where it finds nothing."""
    if format_of(path).interpreter:
        return ""
    for problem in read_graph(path, options).problems:
        if problem.kind in ("invalid", "oversized", "external") and not problem.vendor:
            return f"the model is damaged: {f'node {problem.node!r}: ' if problem.node else ''}{problem.message}"
    return ""


def _open_tflite(path: str, library: Library, _options: Options, _folder: Path) -> OpenedModel:
    """A `.tflite` model: quantized already, and its sizes are those of its tensors."""
    from firmware_check.tflite.litert_reference import LiteRtReference, opened
    from firmware_check.tflite.program import tflite_program
    from onnxlint_cmsis.formats.tflite.to_graph import to_graph

    model = opened(path)
    return OpenedModel(path, False, to_graph(model), tflite_program(model, library), LiteRtReference(model))


def _open_pte(path: str, library: Library, options: Options, _folder: Path) -> OpenedModel:
    """A `.pte` program: its calls of CMSIS-NN as they stand there; with the test cases of a `.bpte` file."""
    from firmware_check.executorch import IntegerReference, executorch_program
    from onnxlint_cmsis.formats.pte.to_graph import load_pte
    from onnxlint_cmsis.model.model_error import ModelError

    try:
        loaded = load_pte(path)
    except ModelError as error:
        raise FirmwareError(error.message) from None
    program = executorch_program(loaded, library)
    reference = IntegerReference(loaded, program, options.runs)
    return OpenedModel(path, False, loaded.graph, program, reference, remarks=reference.remarks)


OPENERS = {"onnx": _open_onnx, "tflite": _open_tflite, "pte": _open_pte}
"""What reads files of each format, by its name, as firmware."""


def _program(path: str, graph: Graph, library: Library, options: Options, folder: Path | None) -> Program:
    """The layers; those of a model in QOperator format from its QDQ form, written into `folder`."""
    zeros = options.reading.bias_of_zeros
    if folder is None:
        return read_program(path, graph, library, zeros)
    expanded = str(expand(path, folder))
    return named_as_given(read_program(expanded, read_graph(expanded, options), library, zeros), graph)


def read_graph(path: str, options: Options) -> Graph:
    """The model as the linter reads it; FirmwareError where it is none, or the size of an input is not known."""
    from onnxlint_cmsis.formats.onnx.load import load
    from onnxlint_cmsis.model.model_error import ModelError

    try:
        graph = load(path, input_shapes=options.input_shapes)
    except ModelError as error:
        raise FirmwareError(error.message) from None
    for name in graph.inputs:
        shape = graph.shape(name)
        if shape is None or any(size is None for size in shape):
            text = "?" if shape is None else "x".join("?" if size is None else str(size) for size in shape)
            raise FirmwareError(f"input '{name}' has shape {text}; give its sizes: --input-shape {name}=1,...")
    return graph
