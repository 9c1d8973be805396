"""ONNX Runtime: one thread, the same options for both models, errors as text."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxlint_cmsis.fixers.proof.proven import Array, RuntimeRefusalError, first_line


class Optimization(str, Enum):
    """Graph optimisation of ONNX Runtime."""

    DEFAULT = "ORT_ENABLE_ALL"
    """Every optimiser that computes what the file says; Q/DQ around a layer become one integer kernel."""
    NONE = "ORT_DISABLE_ALL"
    """Every node as the file says; a layer between DequantizeLinear and QuantizeLinear computes in float."""
    SHIPPED = "ORT_ENABLE_ALL as it is shipped"
    """Options of the default run, with all optimisers, also those that compute something else than the file says."""


LOSSY = ["WeightBiasQuantization"]
"""Optimisers that compute something else than the file says: this one quantizes float weights between DequantizeLinear
and QuantizeLinear by their largest element, which a lane that does nothing may hold."""
EXACT = {"session.qdq_matmulnbits_accuracy_level": "1"}
"""Options by which kernels compute what the file says: a MatMul of floats and dequantized weights becomes a
MatMulNBits, which at the level it is shipped with, 4, quantizes the floats by their largest element."""


NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Environment variable of ONNX Runtime (its Privacy.md); without, builds with telemetry keep an id and a database of
events in the user's cache folder and send these."""


def onnx_runtime() -> ModuleType:
    """The module `onnxruntime`, with its telemetry off unless the environment says otherwise."""
    os.environ.setdefault(NO_TELEMETRY, "1")  # it is looked at once, when the module is loaded
    import onnxruntime

    module: ModuleType = onnxruntime
    return module


PATIENCE = 8.0
"""Seconds of the processor that a model may run on one set of inputs: a Loop of a damaged model has no end."""
ROOM = 1 << 30
"""Bytes that such a run may take: what a Loop gathers grows as long as it turns. Looked at where the system tells."""
LOOKS = 0.1
"""Seconds between two looks at a run."""


def run_within(session: Any, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
    """Outputs of a session of ONNX Runtime. Raises RuntimeRefusalError, also for more than PATIENCE or ROOM."""
    options, ended, why = onnx_runtime().RunOptions(), threading.Event(), ""
    began, held = time.process_time(), _resident()

    def watch() -> None:
        nonlocal why
        while not (why or ended.wait(LOOKS)):
            if time.process_time() - began > PATIENCE:
                why = f"a run takes more than {PATIENCE:g} seconds"
            elif _resident() - held > ROOM:
                why = f"a run takes more than {ROOM:,} bytes"
            options.terminate = bool(why)

    threading.Thread(target=watch, daemon=True).start()
    try:
        return list(session.run(names, dict(feed), options))
    except Exception as error:  # onnxruntime's own exceptions have no common base
        raise RuntimeRefusalError(why or first_line(error)) from None
    finally:
        ended.set()


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 0


class RuntimeSession:
    """A model ready to run."""

    def __init__(self, model: bytes, level: Optimization) -> None:
        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level.value.split()[0])
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.enable_mem_pattern = False  # its second run would set up memory anew; most sessions run three times
        options.log_severity_level = 4
        lossy = [] if level is Optimization.SHIPPED else LOSSY
        for key, value in {} if level is Optimization.SHIPPED else EXACT.items():
            options.add_session_config_entry(key, value)
        try:
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], disabled_optimizers=lossy
            )
        except Exception as error:  # onnxruntime's own exceptions have no common base
            raise RuntimeRefusalError(first_line(error)) from None
        self.outputs: list[tuple[str, str]] = [(output.name, output.type) for output in self._session.get_outputs()]

    def run(self, feed: Mapping[str, Array], names: Sequence[str] | None = None) -> list[Any]:
        """Outputs in order. Raises RuntimeRefusalError as `run_within` does."""
        return run_within(self._session, feed, names)
