"""Errors that more than one room raises or catches."""

from __future__ import annotations

from collections.abc import Iterable

CLOSE = 0.85
"""How much alike words are that one is suggested for the other."""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """`; did you mean cortex-m4?` where a word comes close or one begins with it, `; allowed: a, b` else."""
    known = list(words)
    close = close_to(word, known)
    return f"; did you mean {' or '.join(close)}?" if close else f"; allowed: {', '.join(known)}"


def close_to(word: str, known: list[str]) -> list[str]:
    """The words that one may stand for, two at most."""
    import difflib

    given = word.lower()
    close = difflib.get_close_matches(given, known, n=2, cutoff=CLOSE)
    longer = [candidate for candidate in known if given and candidate.rpartition("-")[2].startswith(given)]
    return close or (longer if len(longer) == 1 else [])


class UsageError(ValueError):
    """A command line, configuration or baseline cannot be used.

    The text, one line, names the place, what was found and what is allowed.
    """


class NotAppliedError(Exception):
    """A plan cannot be applied to a model; the text is one clause that says what stands in the way."""


class UnreadableError(NotAppliedError):
    """External data cannot be read; the text names the tensor and the file."""


class CalibrationError(Exception):
    """Inputs that do not fit a model, or a model that does not run on them; the text is one line."""
