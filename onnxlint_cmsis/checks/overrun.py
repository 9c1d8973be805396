"""A kernel will read or write past a buffer.

The shape of this layer makes the kernel use more scratch memory than the size function of the release answers,
or write past the end of its output. What lies behind is overwritten, and the inference may still look right.

**What to do.** The message names a way round where one is known. Where only the scratch buffer is too small, a
runtime that adds the missing bytes is safe.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.hazard import HazardCheck

CHECK = HazardCheck(code="CNN303", name="overrun", kind="overrun")
