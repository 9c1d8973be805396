"""Which findings say that a fix answers them, exactly or with --unsafe-fixes alone."""

from __future__ import annotations

import pytest

from onnxlint_cmsis import lint
from onnxlint_cmsis.reporters.summaries import fixable_text
from onnxlint_cmsis.results.file_result import FileResult
from support import paths
from support.models import text
from support.third_party_models import needs_models

ROW = """<ir_version: 8, opset_import: ["" : 17]> agraph (float[1,8,1,128] x) => (float[1,16,1,64] y)
<float[16,8,1,5] w = {0}, int64[8] p = {0,0,0,1,0,0,0,2}> { z = Pad(x, p) y = Conv <strides=[1,2]> (z, w) }"""


def row(**settings: object) -> FileResult:
    """A 1xN convolution behind a Pad that gives wrong values, over channels that the model's input locks."""
    return lint(text(ROW).SerializeToString(), targets=["cortex-m55"], **settings)


def test_a_pad_behind_an_input_is_counted_apart() -> None:
    result = row()
    assert "CNN302" in [finding.code for finding in result.findings]
    assert fixable_text([result]) == "0 fixable with --fix, 1 more with --unsafe-fixes"
    assert fixable_text([row(unsafe_fixes=True)]) == "1 fixable with --fix"


def test_what_no_fix_may_act_on_is_not_counted() -> None:
    assert fixable_text([row(unfixable=["CNN302"])]) == "0 fixable with --fix"


@needs_models
@pytest.mark.parametrize(("unsafe", "says"), [(False, (0, 2)), (True, (2, 0))])
def test_repairs_that_are_not_exact_are_counted_apart(unsafe: bool, says: tuple[int, int]) -> None:
    result = lint(paths.SHARED / "cases/torch/dscnn_def.onnx", targets=["cortex-m4"], unsafe_fixes=unsafe)
    assert (result.fixable, result.fixable_unsafely) == says
