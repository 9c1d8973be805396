"""The exceptions a user may see: the check could not be run."""

from __future__ import annotations


class FirmwareError(Exception):
    """One line: the failed step, the finding, the allowed values. Ends the run with exit code 2."""


class CompilerFaultError(FirmwareError):
    """The compiler ended with an internal error."""


class RunEndedError(FirmwareError):
    """Something else ended the run."""


class LayerEndedError(FirmwareError):
    """The firmware faulted or hung in a layer."""

    def __init__(self, label: str, text: str) -> None:
        super().__init__(text)
        self.label = label


class TooLargeError(FirmwareError):
    """The board's memory does not hold the firmware."""
