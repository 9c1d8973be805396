"""Builds the package; in the README for PyPI, relative links become links to the tag on GitHub."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
HOST, PROJECT = "https://github.com", "onnxlint-cmsis/onnxlint-cmsis"
RELATIVE = re.compile(r"(!?\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\])\((?!https?://|#)([^)]+)\)")


def absolute(text: str, tag: str) -> str:
    """A Markdown text whose relative links and pictures point to a tag on GitHub."""

    def replaced(link: re.Match[str]) -> str:
        folder = "raw" if link[1].startswith("!") else "blob"
        return f"{absolute(link[1], tag)}({HOST}/{PROJECT}/{folder}/{tag}/{link[2]})"

    return RELATIVE.sub(replaced, text)


def long_description() -> str:
    """The README for this version."""
    version = re.search(
        r'^__version__ = "(.*)"$', (ROOT / "onnxlint_cmsis/ground/__init__.py").read_text(), re.MULTILINE
    )
    assert version, "onnxlint_cmsis/ground/__init__.py has no __version__"
    return absolute((ROOT / "README.md").read_text(encoding="utf-8"), f"v{version[1]}")


setup(long_description=long_description(), long_description_content_type="text/markdown")
