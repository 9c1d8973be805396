"""onnx.checker's verdict as one Problem."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, check_model
from onnxlint_cmsis.model.graph import Problem

if TYPE_CHECKING:
    from onnx import ModelProto


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
