"""The exceptions a user may see: the check could not be run."""

from __future__ import annotations


class FirmwareError(Exception):
    """One line: what could not be done, what was found, what is allowed. Ends the run with exit code 2."""


class TooLargeError(FirmwareError):
    """The board's memory does not hold the firmware."""
