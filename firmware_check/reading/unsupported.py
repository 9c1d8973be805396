"""A node that the firmware cannot have as a layer."""

from __future__ import annotations


class Unsupported(Exception):
    """Why, as a clause whose subject is the node."""
