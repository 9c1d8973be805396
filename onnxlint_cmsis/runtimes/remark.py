"""What is to be said of a runtime and some layers of a model, before a rule makes findings of it."""

from __future__ import annotations

from onnxlint_cmsis.findings import Location
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.types import Level

SHOWN = 3
"""How many layers a message names."""


class RuntimeRemark(NamedTuple):
    """One reason for which a runtime does something with layers."""

    kind: str
    """What it is about; each kind belongs to one rule."""
    verdict: RuntimeVerdict
    """What becomes of the layers."""
    message: str
    """What is said."""
    location: Location
    """First of the layers."""
    nodes: tuple[str, ...]
    """Labels of all of them."""
    targets: tuple[str, ...] = ()
    """Labels of the targets it holds for; empty where it does not depend on a target."""
    level: Level | None = None
    """A milder level than the rule's."""
    source: str = ""
    """File and line of the runtime that decides it, and its commit."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layers too: the rule that claims them tells of both."""
    converter: bool = False
    """Whether what a converter makes of an ONNX model decides."""


def named(labels: tuple[str, ...]) -> str:
    """`'a', 'b', 'c', ... (5 layers)`."""
    shown = ", ".join(f"'{label}'" for label in labels[:SHOWN]) + (", ..." if len(labels) > SHOWN else "")
    return shown + (f" ({len(labels)} layers)" if len(labels) > SHOWN else "")
