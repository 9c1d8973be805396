"""The version, in a file without imports, so that packaging tools can read it and every room may."""

from __future__ import annotations

__version__ = "0.1.0"
