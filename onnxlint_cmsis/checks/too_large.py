"""A dimension does not fit the kernel's variables.

Some kernels keep sizes in 16-bit variables. A larger size is cut off, and the kernel computes something else. Where
only the last of an odd number of output pixels is concerned, the finding says so; with an even number nothing is cut.

**What to do.** Split the layer, or make the named size smaller.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.hazard import HazardCheck

CHECK = HazardCheck(code="CNN304", name="too-large", kind="narrow")
