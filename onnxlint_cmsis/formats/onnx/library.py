"""ONNX's shape inference and checker, which are written in C++: called here, or in a process apart."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.functions import domain_of, operator_of_proto
from onnxlint_cmsis.ground.apart import Apart, CallError, EndedError
from onnxlint_cmsis.model.graph import Problem
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.slicing import SLICE, SPLIT

if TYPE_CHECKING:
    from typing import Any

    from onnx import GraphProto, ModelProto, NodeProto


# Inference of onnx before 1.23 may end its process on damaged nodes that `hide_dangerous` does not know of. So these
# versions run in a process apart, which is started anew after such an end.


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


# onnx.checker's verdict as one Problem.


CONTEXT = "==> Context:"
"""What the checker puts between its message and the way to the place."""
NODE = r"Bad node spec for node\. Name: (.*?) OpType: "
UNKNOWN = r"No Op registered for (\S+)|No opset import for domain"
"""What the checker says of an operator of a vendor."""
MAX_TEXT = 300
"""Characters of a message that are kept; a node's whole text may follow them."""


def checker_problem(model: bytes) -> Problem | None:
    """What onnx.checker rejects a serialized model for, None where it accepts it."""
    try:
        check_model(model)
    except OnnxLibraryError as error:
        text, _, context = str(error).partition(CONTEXT)
        message = " ".join(text.split())
        if len(message) > MAX_TEXT:
            message = f"{message[:MAX_TEXT]} ..."
        if re.search(UNKNOWN, message):
            text = f"the model has operators that the onnx package does not know ({message})"
            return Problem("invalid", text, vendor=True)
        nodes = re.findall(NODE, context)
        return Problem("invalid", f"onnx.checker: {message}", nodes[-1] if nodes else "")
    return None


def opset_problems(model: ModelProto) -> list[Problem]:
    """Operator sets newer or older than the installed onnx knows; sets of other domains are anyone's."""
    from onnx import __version__ as version
    from onnx import defs

    known = {domain_of(domain): limits for domain, limits in defs.C.schema_version_map().items()}
    problems: list[Problem] = []
    for opset in model.opset_import:
        low, high = known.get(domain_of(opset.domain), (opset.version, opset.version))
        if not low <= opset.version <= high:
            name = opset.domain or "ai.onnx"
            text = f"operator set {name} {opset.version}; the installed onnx {version} knows {low} to {high}"
            problems.append(Problem("invalid", text))
    return problems


# Nodes that ONNX's C++ shape inference crashes on or does not return from, kept out of its sight.
#
# Each rule was found by feeding onnx 1.23 mutated models, and every operator of every version with inputs of no, odd
# and small shapes: missing required inputs or types, sizes and axes out of all range.
# Data propagation is not used at all: it makes one object per element of every rank-1 tensor.


OPAQUE = "onnxlint_cmsis.opaque"
"""Domain that inference knows no operators of, so that it passes the node by."""
MAX_INT = 2**31 - 1
"""Largest size of an integer attribute that is no data."""
DATA_INTS = (CONSTANT, SLICE)
"""Operators whose integer attributes may be any number."""
EQUATION = rb"[A-Za-z., ]*(->[A-Za-z. ]*)?"


def hide_dangerous(graph: GraphProto, versions: dict[str, int]) -> None:
    """Make nodes that inference could crash on opaque, in place."""
    for node in graph.node:
        if _required_input_missing(node, versions) or _odd_attribute(node) or node.op_type in UNCHECKED:
            node.domain = OPAQUE


def _required_input_missing(node: NodeProto, versions: dict[str, int]) -> bool:
    """An empty name in the place of an input that may not be left out."""
    if "" not in node.input:
        return False
    from onnx import defs

    domain = domain_of(node.domain)
    version = versions.get(domain, 0)
    if not defs.has(node.op_type, version, domain):
        return False
    formal = defs.get_schema(node.op_type, version, domain).inputs
    optional = defs.OpSchema.FormalParameterOption.Optional
    return any(not name and i < len(formal) and formal[i].option != optional for i, name in enumerate(node.input))


def _odd_attribute(node: NodeProto) -> bool:
    """An attribute with a value that its operator cannot have."""
    operator = operator_of_proto(node)
    for attribute in node.attribute:
        huge = any(abs(value) > MAX_INT for value in (attribute.i, *attribute.ints))
        if huge and operator not in DATA_INTS:  # it is no axis and no size of anything
            return True
        if operator is SPLIT and attribute.name == "num_outputs" and attribute.i != len(node.output):
            return True
        if node.op_type == "Einsum" and attribute.name == "equation" and not re.fullmatch(EQUATION, attribute.s):
            return True
        if node.op_type == "GatherND" and attribute.name == "batch_dims" and attribute.i < 0:
            return True
    return False
