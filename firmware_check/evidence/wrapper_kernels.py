"""The kernels that a wrapper calls in the source, held against its rows: a new branch is noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from firmware_check.evidence.c_source import CSource
from firmware_check.evidence.citations import CALLED_AS, Citation
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.tables import ENTRIES, wrapper_for

_CALL = re.compile(r"\b(arm_(?!nn_|mem)\w+)\s*\(")
"""A call of a kernel. Names with arm_nn_ or arm_mem belong to support functions."""


class WrapperFunction(NamedTuple):
    """A C function whose branches are rows."""

    citation: Citation
    """Citation of the function."""
    kernels: frozenset[str]
    """What its rows call."""

    def unlisted(self, source: CSource) -> list[str]:
        """Kernels that the function calls and no row names, in the order of the source."""
        name = self.citation.function
        body = " ".join(source.lines[line - 1] for line in source.function(name))
        return [call for call in dict.fromkeys(_CALL.findall(body)) if call not in self.kernels and call != name]


def wrapper_functions(release: str) -> Iterator[WrapperFunction]:
    """Each function of a release that chooses between kernels."""
    for entry in ENTRIES:
        wrapper = wrapper_for(entry)
        if wrapper is not None:
            functions: dict[tuple[str, str], set[str]] = {}
            for branch in wrapper.branches:
                if branch.origin.spans(release) and branch.origin.function != branch.kernel:
                    cited = branch.origin.file, branch.origin.function
                    called = CALLED_AS.get(branch.kernel, branch.kernel)
                    functions.setdefault(cited, set()).update((branch.kernel, called))
            for (file, function), kernels in functions.items():
                yield WrapperFunction(Citation(f"routes/{wrapper.entry}", file, function, 0, TRUE), frozenset(kernels))
