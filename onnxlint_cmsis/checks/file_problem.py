"""What the rules of scope FILE share: one message about one place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxlint_cmsis.findings import Location, Statement
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Level


class FileProblem(NamedTuple):
    """What is wrong with a file, or with a node of it."""

    message: str
    """What was found and what is allowed."""
    location: Location
    """The file, or the node."""
    level: Level | None = None
    """A milder level than the rule's; None for the rule's."""
    cause: str = ""
    """Why, for programs; problems of one cause are reported as one. Empty for one that stands alone."""


_PARTICULARS = re.compile(r"`[^`]*`|'[^']*'|\d+(?:, \d+)*")


def cause_of(message: str) -> str:
    """What is the same in messages on equal problems: no names, no numbers."""
    return _PARTICULARS.sub("#", message)


def report(problem: FileProblem) -> Iterator[Statement]:
    """Say what is wrong."""
    yield Statement(problem.message, problem.location, level=problem.level, cause=problem.cause)
