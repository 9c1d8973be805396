"""LiteRT, as the proof uses it: reference kernels, one thread, one process for each model, errors as text."""

from __future__ import annotations

import contextlib
import json
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.proof.proven_model import RuntimeRefusalError

if TYPE_CHECKING:
    from onnxlint_cmsis.proof.litert_process import LoadedTensor
    from onnxlint_cmsis.proof.proven_model import Array

MISSING = "LiteRT, which proves fixes of .tflite files, is not installed: pip install 'onnxlint-cmsis[tflite]'"
"""Why nothing is fixed without the package."""
LIMIT = 300.0
"""Seconds that one run may take; then its process is ended."""
STARTED = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import serve; serve()"
"""What the process runs: the same modules as this one, wherever they come from."""
SHOWN = 200
"""Characters of an error that are shown."""


class Kernels(str, Enum):
    """Sets of kernels that LiteRT computes with."""

    REFERENCE = "reference kernels"
    """One plain loop for each operator, whose integers are those that TensorFlow Lite Micro computes."""


def litert_missing() -> str:
    """Why nothing can be proven; empty where LiteRT is installed."""
    return "" if find_spec("ai_edge_litert") else MISSING


class LiteRtProcess:
    """A model loaded in a process; tensors are named by their index in the main subgraph."""

    def __init__(self, model: bytes, repeats: int = 1) -> None:
        """Each input is run `repeats` times. Raises RuntimeRefusalError."""
        if litert_missing():
            raise RuntimeRefusalError(MISSING)
        code = STARTED.format(module="onnxlint_cmsis.proof.litert_process")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", code, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        weakref.finalize(self, _end, self._process)
        self.tensors: dict[int, LoadedTensor] = self._asked((model, repeats))
        """Every tensor with its size."""

    def run(self, feed: Mapping[int, Array], wanted: Sequence[int]) -> list[Any]:
        """Values of tensors on one input. Raises RuntimeRefusalError."""
        values: list[Any] = self._asked((dict(feed), tuple(wanted)))
        return values

    def close(self) -> None:
        """Let the process end as it would. Raises RuntimeRefusalError where it crashes then: memory was overwritten."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.wait():
            raise RuntimeRefusalError(f"it ended its process {_how(self._process)}")

    def _asked(self, request: object) -> Any:
        """What the process answers."""
        process = self._process
        watch = threading.Timer(LIMIT, process.kill)
        watch.start()
        try:
            if process.stdin is None or process.stdout is None:
                raise RuntimeRefusalError("its process has no pipes")
            pickle.dump(request, process.stdin)
            process.stdin.flush()
            good, answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise RuntimeRefusalError(f"it ended its process {_how(process)}") from None
        finally:
            watch.cancel()
        if not good:
            raise RuntimeRefusalError(answer if len(answer) <= SHOWN else f"{answer[:SHOWN]} ...")
        return answer


def _how(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.wait()
    return f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that is not needed any more."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
