"""Versions of packages that tests compare with."""

from __future__ import annotations

from importlib import metadata


def installed(package: str) -> tuple[int, int]:
    """First two numbers of the version of an installed package."""
    major, minor = metadata.version(package).split(".")[:2]
    return int(major), int(minor)
