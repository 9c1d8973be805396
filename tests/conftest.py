"""What holds for every test and for what tests start."""

from __future__ import annotations

import os

from hypothesis import settings

from onnxlint_cmsis.proof.onnx_runtime import NO_TELEMETRY

os.environ.setdefault(NO_TELEMETRY, "1")
settings.register_profile("any-machine", deadline=None)  # a slow or busy one must not fail a test
settings.load_profile("any-machine")
