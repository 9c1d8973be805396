"""Lists of names as text, and the word that a wrong one was meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

CLOSE = 0.85
"""How much alike words are that one is suggested for the other."""

NAMED = 3
"""Names that a sentence has before it only counts."""

RETRAIN = "changes what the layer computes: retrain the model"
"""What is said of advice that is no exact rewrite, behind a subject."""


def and_more(names: Sequence[str], shown: int = NAMED, count: int = 0) -> str:
    """Return `a, b and 3 more`: the first `shown` of the names, of which there are `count` (all, if that is less)."""
    more = max(count, len(names)) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


def quoted(names: Iterable[str]) -> list[str]:
    """Return each name between `'`."""
    return [f"'{name}'" for name in names]


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return `; did you mean cortex-m4?` if a word comes close or one begins with it, else `; allowed: a, b`."""
    known = list(words)
    close = close_to(word, known)
    return f"; did you mean {' or '.join(close)}?" if close else f"; allowed: {', '.join(known)}"


def close_to(word: str, known: Collection[str]) -> list[str]:
    """Return the words that one may stand for, two at most; also the only one whose last part it begins."""
    given = word.lower()
    longer = [candidate for candidate in known if given and candidate.rpartition("-")[2].startswith(given)]
    return alike(given, known, 2, CLOSE) or (longer if len(longer) == 1 else [])


def alike(word: str, known: Collection[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the words that are most like one, the nearest first."""
    from difflib import get_close_matches

    return get_close_matches(word, [*known], count, cutoff)
