"""What reading a file, or a file beside it, brought up: one message about one place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.ground.findings import Location, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level


class FileProblem(NamedTuple):
    """What is wrong with a file, or with a node of it."""

    message: str
    """What was found and what is allowed."""
    location: Location
    """The file, or the node."""
    level: Level | None = None
    """A milder level than the rule's; None for the rule's."""
    group: str = ""
    """Problems of one group are reported as one. Empty for one that stands alone."""
    do: str = ""
    """What mends it, as a sentence; empty where the rule says it."""


_PARTICULARS = r"`[^`]*`|'[^']*'|\d+(?:, \d+)*"


def group_of(message: str) -> str:
    """What is the same in messages on equal problems: no names, no numbers."""
    return re.sub(_PARTICULARS, "#", message)


class FileCheck(NamedTuple):
    """The problems of a file that a rule claims."""

    do: str
    """What to do about those that do not say it, as a sentence."""

    def __call__(self, problem: FileProblem) -> Iterator[Statement]:
        """Say what is wrong."""
        text = f"{problem.message.removesuffix('.')}."
        said = Statement(text, problem.location, level=problem.level, group=problem.group)
        yield replace(said, remedy=problem.do or self.do)
