"""The APIs of CMSIS-NN (for integers, the legacy one, for floats), and the releases that have each."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE, RELEASE_ROWS, V5_9, said_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Api(NamedTuple):
    """Functions that are called in one way."""

    name: str
    """Value of the setting `api`."""
    types: tuple[str, ...]
    """What a float model may become, the usual one first; an entry point ends in it."""
    release: str
    """Release where none is named."""
    what: str
    """Its functions, for messages."""

    @property
    def releases(self) -> tuple[str, ...]:
        """Reviewed releases that have it, oldest first."""
        return tuple(row.name for row in RELEASE_ROWS if row.reviewed and self.name in row.apis)

    def refuse_without(self, release: str) -> None:
        """Refuse a release without reviewed rows of the API.

        Raises:
            ValueError: the release is not one of those allowed, which the message names.

        """
        if release not in self.releases:
            allowed = ", ".join(self.releases)
            unread = said_of(release) and self.name != "legacy"
            why = f"the {self.what} of CMSIS-NN {release} were not read" if unread else ""
            raise ValueError(f"{why or f'CMSIS-NN {release} has no {self.what}'}; allowed: {allowed}")


INTEGER = Api("current", ("s8", "s16", "s4"), DEFAULT_RELEASE, "wrappers for s8, s16 and s4")
LEGACY = Api("legacy", ("q7", "q15", "q7q15"), V5_9, "functions for q7 and q15")
"""Functions of CMSIS 5 with powers of two as scales; q7q15 has weights of 8 bits and activations of 16."""
FLOAT = Api("float", ("f32", "f16"), "main", "functions for f32 and f16")
"""Functions for floating-point numbers, which came with commit 91f84c80; f16 adds in half precision."""
APIS = (INTEGER, LEGACY, FLOAT)


def api_named(name: str) -> Api:
    """The API of a setting `api`."""
    return next(api for api in APIS if api.name == name)


def api_of(entry: str) -> Api:
    """The API that an entry point, or a function, belongs to."""
    if "_q7" in entry or "_q15" in entry:
        return LEGACY
    return FLOAT if "_f32" in entry or "_f16" in entry else INTEGER
