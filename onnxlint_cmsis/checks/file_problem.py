"""What the rules of scope FILE share: one message about one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onnxlint_cmsis.types import Location, Statement


class FileProblem(NamedTuple):
    """What is wrong with a file, or with a node of it."""

    message: str
    """What was found and what is allowed."""
    location: Location
    """The file, or the node."""


def report(problem: FileProblem) -> Iterator[Statement]:
    """Say what is wrong."""
    yield Statement(problem.message, problem.location)
