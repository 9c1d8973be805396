"""The one error that reading a model can end in."""

from __future__ import annotations


class ModelError(Exception):
    """A file that cannot be linted as a model.

    `kind` is one of `unreadable`, `not-a-model`, `lfs-pointer`, `too-deep`, `external` and `input-shape`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
