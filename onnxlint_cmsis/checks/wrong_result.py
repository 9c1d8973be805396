"""A kernel will return wrong values with status SUCCESS.

The shape of this layer hits a defect of the release: the kernel returns SUCCESS and the output is wrong.
Nothing at run time tells. The message gives the sizes that matter and what they would have to be. How the defect
is known is with it (`known`): reproduced by running the real library against a plain reference, reported upstream,
or read in the source.

**What to do.** The message names a way round where one is known: a channel count that takes another kernel,
explicit padding in front of the layer, or a release without the defect.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.hazard import HazardCheck

CHECK = HazardCheck(code="CNN302", name="wrong-result", kind="wrong")
