"""`support/goldens.py`: which texts an entry fits."""

from __future__ import annotations

import pytest

from support.goldens import fits


@pytest.mark.parametrize(
    ("text", "entry", "fit"),
    [
        ("a file is missing", "a file is missing", True),
        ("a file is missing", "file is", False),
        ("a file is missing", "…file is…", True),
        ("a file is missing", "a file…", True),
        ("a file is missing", "file…", False),
        ("a file is missing", "…missing", True),
        ("a file is missing", "…file", False),
        ("a (b) is missing", "a (b)…", True),
        ("a axb is missing", "…a.b…", False),
        ("first\nsecond\nthird", "…second\n…", True),
        ("first\nsecond place\nthird", "…second\n…", False),
    ],
)
def test_an_entry_leaves_open_what_it_says(text: str, entry: str, fit: bool) -> None:
    assert fits(text.splitlines(), entry.splitlines()) is fit


def test_no_entry_fits_nothing() -> None:
    assert not fits([], None)
