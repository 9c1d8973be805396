"""Releases of ExecuTorch, by which the operators of a program and their arguments are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RELEASES: Mapping[str, str] = MappingProxyType(
    {
        "1.0.1": "2025-11-20", "1.1.0": "2026-01-27", "1.2.0": "2026-04-01", "1.3.0": "2026-05-26",
        "1.3.1": "2026-05-28", "1.4.0": "2026-08-06", "1.4.1": "2026-08-14", "cff6f4dd": "2026-08-22",
        "1.5.1": "2026-09-18", "1.6.0": "2026-11-28",
    }
)  # fmt: skip
"""Releases of ExecuTorch, and a commit between them, oldest first, with the day of each; 1.6.0 is its main branch on
that day."""
