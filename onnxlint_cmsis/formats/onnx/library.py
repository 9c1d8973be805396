"""onnx's checker and shape inference, called so that no model ends the process.

Inference of onnx before 1.23 may end its process on damaged nodes that `hide_dangerous` does not know of. So these
versions run in a process apart, which is started anew after such an end.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from onnx import ModelProto

    from onnxlint_cmsis.ground.apart import Apart


TRUSTED = (1, 23)
"""First version of onnx whose inference returns from every node that `hide_dangerous` lets through."""


class OnnxLibraryError(Exception):
    """The library raised an exception, whose text this is, or ended its process."""


class OnnxLibrary:
    """The two functions, of serialized models. What they raise has no common base but Exception."""

    def infer_shapes(self, model: bytes, strict: bool) -> ModelProto:
        """The model with the shapes that were found; strict: raise an exception for nodes without."""
        from onnx import shape_inference

        inferred: ModelProto = shape_inference.infer_shapes(model, strict_mode=strict)
        return inferred

    def check_model(self, model: bytes) -> None:
        """Raise an exception for a model that the checker rejects."""
        from onnx import checker

        checker.check_model(model)


class _Guarded:
    """The library in a process apart; threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._apart: Apart | None = None

    def call(self, method: str, *arguments: object) -> Any:
        from onnxlint_cmsis.ground.apart import Apart, CallError, EndedError

        with self._lock:
            self._apart = self._apart or Apart(__name__, OnnxLibrary.__name__)
            try:
                return self._apart.call(method, *arguments)
            except CallError as error:
                raise OnnxLibraryError(str(error)) from None
            except EndedError as error:
                self._apart = None
                raise OnnxLibraryError(f"onnx ended its process {error}") from None


@cache
def _guarded(_process: int) -> _Guarded:
    """The library of a process: one that was forked from it needs pipes to another."""
    return _Guarded()


UNCHECKED = ("EyeLike", "RegexFullMatch", "DictVectorizer", "LabelEncoder", "TreeEnsemble")
"""Operators whose inference uses the type of its input without asking whether it is known."""
ENDING = ("Slice", "GatherND", *UNCHECKED)
"""Operators at which onnx 1.23 may end the process: these two at a negative size of what they read.

Windows, numbers in place of sizes, stated types and sums that overflow make such sizes: too many ways to look for.
"""


def infer_shapes(model: bytes, *, strict: bool = False) -> ModelProto:
    """The model with the shapes that inference finds; `strict` makes it fail at nodes without.

    A model that names an operator of ENDING goes to a process apart. Raises OnnxLibraryError.
    """
    apart = any(name.encode() in model for name in ENDING)
    inferred: ModelProto = _call(OnnxLibrary.infer_shapes, model, strict, apart=apart)
    return inferred


def check_model(model: bytes) -> None:
    """Raise OnnxLibraryError where onnx.checker rejects a serialized model."""
    _call(OnnxLibrary.check_model, model)


def _call(method: Callable[..., Any], *arguments: object, apart: bool = False) -> Any:
    from onnx import __version__ as version

    if apart or tuple(map(int, version.split(".")[:2])) < TRUSTED:
        return _guarded(os.getpid()).call(method.__name__, *arguments)
    try:
        return method(OnnxLibrary(), *arguments)
    except Exception as error:
        raise OnnxLibraryError(str(error) or type(error).__name__) from None
