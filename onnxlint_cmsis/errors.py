"""The error of a run that cannot begin: a command line, configuration or baseline that makes no sense."""

from __future__ import annotations


class UsageError(ValueError):
    """What the user gave cannot be used; the text, one line, names the place, what was found and what is allowed."""
