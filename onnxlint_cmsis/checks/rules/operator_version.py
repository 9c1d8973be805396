"""The file asks for a version of an operator that nobody knew when the runtime was reviewed.

A converter raises the version of an operator when the operator learns something: a type, an option, weights with a
scale for each channel. TensorFlow Lite compares versions and refuses what it does not know. TensorFlow Lite Micro
compares none (micro_op_resolver.h): it runs the kernel that it has, which looks at types and options alone. What a
later version added, such a kernel may leave out without a word.

The versions known are those that LiteRT 2.3.0 registers, and that TensorFlow's op_version.cc writes. A version among
them is not reported, since the checks of the kernel are known for it.

**What to do.** Find out what the version added, and compare the results on the device with those of LiteRT. Or convert
the model with a release that writes an older version.
"""

from __future__ import annotations

from binascii import a2b_base64
from zlib import decompress

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

NEWER = decompress(
    a2b_base64(
        "eNqTYGBgCHHzMeZjEGFgYeBg4AHyBaCYGYhFgDgAiFOYGIDyIMjAwAiV5wGSID5IF0ifEBCfhNIQlSA5hD5M/TA7BeD2dgAlJwDxFEaI"
        "/QpAPAVkDpDPxyABVy/CAAEiUMwJ5asAsQkQM0HtwWV/Ith+HrAemL85wGIQeSCwh9JggG63AJn2Jg2QvZUk2ssEpRmhGGa+BAPueAAB"
        "GaibRIFYBy0dYDMTWR7d/QDqtg3w"
    )
)
"""A model of one operator MUL of version 201."""
KNOWN = NEWER.replace(bytes([201, 0, 0, 0]), bytes([2, 0, 0, 0]))
"""That model with MUL of version 2, which is that of int8."""

RULE = Rule(
    code="CNN413",
    name="operator-version",
    level=Level.WARNING,
    effect=Effect.UNKNOWN,
    summary="The file asks for a version of an operator that nobody knew when the runtime was reviewed.",
    docs=__doc__,
    bad=Example(NEWER, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b), of version 201"),
    good=Example(KNOWN, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b), of version 2"),
    kinds=("runtime-version",),
)

run = report_remark
