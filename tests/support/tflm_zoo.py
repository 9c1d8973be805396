"""Files of one operator in TensorFlow Lite Micro and in LiteRT's reference kernels, as `tflm_drafts` draws them.

They come in four forms: as drawn, with an unknown batch, with one size of a result stated otherwise, and with a result
of another type. `lab/zoo_tflite.py` prints what contradicts a verdict. This file also runs, in processes that may die.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import numpy as np

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import LoadedTflite, to_graph
from onnxlint_cmsis.runtimes.host.comparison import against
from onnxlint_cmsis.runtimes.host.hosts import REFERENCE
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport
from support.forked import python
from support.targets import target_of
from support.tflm_drafts import MAKERS, OPERATORS, Draft

BUILD = TflmBuild(target_of("cortex-m4", "main"), checks=False, with_cmsis_nn=False)
FORMS = ("drawn", "unknown batch", "stated otherwise", "another type")
TYPES = ("FLOAT32", "INT8", "INT16", "INT32")
"""Types that most kernels tell apart."""
AT_ONCE = 60
ARENA = 1 << 20
CLOSE = 1e-4
"""Part of a float by which kernels may differ."""
Array = np.ndarray[Any, Any]


def zoo_file(seed: int, op: str, form: str) -> bytes:
    """A file of one operator."""
    d = Draft(seed, op)
    operands = MAKERS[op](d)
    d.add(op, operands)
    if form == "unknown batch":
        for tensor in d.tensors:
            if tensor["shape"] and not tensor["buffer"]:
                tensor["shape_signature"] = [-1, *tensor["shape"][1:]]
    elif form == "stated otherwise":
        shape = d.tensors[operands.outputs[0]]["shape"] or [1]
        axis = d.chance.randrange(len(shape))
        d.tensors[operands.outputs[0]]["shape"] = [
            max(size + d.chance.choice((-1, 1, 2)), 1) if index == axis else size for index, size in enumerate(shape)
        ]
    elif form == "another type":
        output = d.tensors[operands.outputs[0]]
        output["type"] = d.chance.choice([kind for kind in TYPES if kind != output["type"]])
    return d.file()


class Run(NamedTuple):
    """What a runtime did with a file."""

    outcome: str
    """`runs`, `refuses` or `ends`."""
    values: tuple[Array, ...] = ()
    """Outputs; none where it did not run, or where the Python wrapper can neither write inputs nor read outputs."""


class Animal(NamedTuple):
    """A file in both runtimes."""

    op: str
    """Operator."""
    seed: int
    """Seed."""
    form: str
    """One of FORMS."""
    report: TflmReport
    """What is told."""
    device: Run
    """TensorFlow Lite Micro."""
    desktop: Run
    """LiteRT's reference kernels."""
    bound: int | None
    """Steps by which integers may differ; None for no bound."""

    @property
    def wrong(self) -> bool:
        """Whether wrong values are told."""
        return any(operator.verdict.value == "wrong" for operator in self.report.operators)

    @property
    def equal(self) -> bool | None:
        """Whether values are those of the desktop; None where that cannot be told."""
        if not self.device.values or not self.desktop.values:
            return None
        pairs = [(a.ravel(), b.ravel()) for a, b in zip(self.device.values, self.desktop.values, strict=True)]
        if any((left.size, left.dtype) != (right.size, right.dtype) for left, right in pairs):
            return False
        if all(left.dtype.kind == "f" for left, _ in pairs):
            return all(np.allclose(left, right, CLOSE, 1e-6, equal_nan=True) for left, right in pairs)
        apart = max(float(np.abs(a.astype(np.float64) - b).max(initial=0)) for a, b in pairs)
        return None if self.bound is None else apart <= self.bound

    @property
    def contradiction(self) -> str:
        """What contradicts the verdict; empty where nothing does."""
        status, runs = self.report.status, self.device.outcome == "runs"
        if status == "undecided":
            return ""
        past = any("past the end of its output" in operator.reason for operator in self.report.operators)
        if status == "ok" and not runs and not (self.wrong and past):
            return f"told to run, and {self.device.outcome}"
        if status != "ok" and runs:
            return f"told to stop ({status}), and runs"
        if status == "ok" and not self.wrong and self.equal is False:
            return "told to run, and values differ"
        return ""


def animals(
    count: int, seed: int = 0, ops: Iterable[str] = OPERATORS, forms: Sequence[str] = FORMS
) -> Iterator[Animal]:
    """`count` files of each operator and form, from a seed on."""
    drawn = [(op, number, form) for op in ops for form in forms for number in range(seed, seed + count)]
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(drawn), AT_ONCE):
            part = drawn[start : start + AT_ONCE]
            files = [Path(folder, f"{index}.tflite") for index in range(len(part))]
            for file, (op, number, form) in zip(files, part, strict=True):
                file.write_bytes(zoo_file(number, op, form))
            pairs = zip(_runs("device", files), _runs("desktop", files), strict=True)
            for file, (op, number, form), (device, desktop) in zip(files, part, pairs, strict=True):
                model = read_tflite(file)
                loaded = LoadedTflite(model, to_graph(model))
                layers = against(loaded.graph, loaded.reader(), REFERENCE, {}).layers
                bound = layers[0].bound.steps if layers else None
                report = interpret(model, BUILD)
                yield Animal(op, number, form, report, device, desktop, bound)


def _runs(side: str, files: Sequence[Path]) -> list[Run]:
    """What a runtime does with files, in processes that may die."""
    runs: list[Run] = []
    while len(runs) < len(files):
        left = files[len(runs) :]
        python([__file__, f"--{side}", *map(str, left)], ".", patience=600)
        for file in left:
            result = file.with_suffix(f".{side}")
            if not result.exists():
                runs.append(Run("ends"))
                break
            runs.append(Run(*pickle.loads(result.read_bytes())))
            result.unlink()
    return runs


def _feeds(path: str) -> list[Array]:
    """Values of all inputs."""
    main, rng = read_tflite(path).subgraphs[0], np.random.default_rng(1)
    values = []
    for index in main.inputs:
        tensor = main.tensors[index]
        kind = np.dtype({"INT4": "int8"}.get(tensor.elem_type, tensor.elem_type.lower()))
        shape = [max(size, 0) for size in tensor.shape]
        if kind.kind == "f":
            values.append(rng.uniform(0.1, 3, shape).astype(kind))
        elif main.operators[0].op == "RSQRT":  # Eval refuses what is not above the zero-point
            values.append(np.full(shape, 100, kind))
        elif kind.itemsize > 2:
            values.append(np.ones(shape, kind))
        else:
            info = np.iinfo(np.uint8 if kind.kind == "b" else kind)
            values.append(rng.integers(info.min, info.max + 1, shape).astype(kind))
    return values


def _device(path: str) -> tuple[str, tuple[Array, ...]]:
    from tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(Path(path).read_bytes(), arena_size=ARENA)
    except RuntimeError:
        return "refuses", ()
    main = read_tflite(path).subgraphs[0]
    readable = all(size > 0 for output in main.outputs for size in main.tensors[output].shape)
    try:
        for number, values in enumerate(_feeds(path)):
            interpreter.set_input(values, number)
    except (RuntimeError, ValueError, TypeError, KeyError):
        readable = False
    try:
        interpreter.invoke()
    except RuntimeError:
        return "refuses", ()
    if not readable:  # get_output copies as many bytes as the file says
        return "runs", ()
    return "runs", tuple(np.array(interpreter.get_output(number)) for number in range(len(main.outputs)))


def _desktop(path: str) -> tuple[str, tuple[Array, ...]]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        kernels = OpResolverType.BUILTIN_REF
        interpreter = Interpreter(path, num_threads=1, experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
        for details, values in zip(interpreter.get_input_details(), _feeds(path), strict=True):
            interpreter.set_tensor(details["index"], values)
        interpreter.invoke()
        ends = [details["index"] for details in interpreter.get_output_details()]
        return "runs", tuple(np.array(interpreter.get_tensor(index)) for index in ends)
    except (RuntimeError, ValueError, TypeError, KeyError):
        return "refuses", ()


if __name__ == "__main__":
    run = {"--device": _device, "--desktop": _desktop}[sys.argv[1]]
    for name in sys.argv[2:]:
        Path(name).with_suffix(f".{sys.argv[1].strip('-')}").write_bytes(pickle.dumps(run(name)))
