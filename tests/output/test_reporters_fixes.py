"""What is said of fixes, on results made up for the test."""

from __future__ import annotations

import json

from onnxlint_cmsis.analysis.fix_results import (
    ClassChange,
    FixResult,
    LayerChange,
    Locked,
    Numbers,
    Repair,
    SkippedClass,
    TargetTotal,
    TensorChange,
)
from onnxlint_cmsis.analysis.proof_results import Difference, Proof, ValueChange
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.analysis.short_names import WIDEST, cut
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import NASTY, TARGET, a_run
from support.goldens import check_golden

CHANGED = FixResult(
    policy="faster",
    changed=True,
    written=True,
    reason="",
    failed=False,
    classes=(
        ClassChange(4, 5, "FREE", ("conv0",), ("row",), 0, 0),
        ClassChange(20, 12, "COUPLED", ("a", "b", "c", "d", "e"), (), 6, 2),
    ),
    tensors=(TensorChange("w", (4, 4), (5, 4), 64, 80), TensorChange("w_2", None, (5,), 0, 20)),
    layers=(LayerChange("row", "convolve_s8", (4, 8), (5, 8), ("old", "k"), ("new", "k"), (100, 9), (None, 8)),),
    totals=(
        TargetTotal(TARGET, "cortex-m55", 1000, 1100, 90, 150, 2),
        TargetTotal("cortex-m0, x", "cortex-m3", 10, 9, 0, 0, 0),
    ),
    repairs=(Repair("row", TARGET, "conv-1xn-wrong-values", "Wrong values."),),
    locked=(Locked(3, 4, 70, ("stem",), "graph input x"), Locked(5, 5, 0, ("last",), "graph output y")),
    macs=Numbers(500, 600),
    bytes=Numbers(9000, 9100),
    proof=Proof(True, "", True, (Difference("y", "tensor(float)", 2e-6, 1e-7),), 16),
)
LEFT = FixResult(
    "faster", False, False, "no other sizes cost less", False, locked=(Locked(3, 4, 70, ("stem",), "graph input x"),)
)
FAILED = FixResult("faster", False, False, f"the fixed model could not be written: {NASTY}", True)


KEPT = LEFT._replace(
    left=(SkippedClass(6, 8, ("a", "b", "c", "d"), "it is in a loop"), SkippedClass(4, 5, ("e",), NASTY))
)


EXACT = Proof(True, "", True, (), 16)
TYPED = Proof(True, "", True, (Difference("y", "tensor(float)", 0.5, 0.004, 40, 78750),), 16, written=200)
DONE = FixResult("faster", True, True, "", False, proof=EXACT)
FIXES = {
    "changed": CHANGED,
    "values changed": DONE._replace(changes=(ValueChange("y", 0.5, 0.5, 1.0), ValueChange("z", 1.0, 2.0, 0.5, 0.5))),
    "types changed": DONE._replace(proof=TYPED),
    "types changed and nothing differs": DONE._replace(proof=TYPED._replace(differences=())),
    "changed but for some": DONE._replace(left=KEPT.left),
    "left": LEFT,
    "kept": KEPT,
    "failed": FAILED,
}
"""Each with the name of its file."""


def shown(fix, output_format="full", **more):
    return render(output_format, a_run(FileResult("m.onnx", (), Level.WARNING, fix=fix), **more))


def test_what_is_told_of_fixes():
    files = [FileResult(name, (), Level.WARNING, fix=fix) for name, fix in FIXES.items()]
    check_golden("screens/fixes", render("full", a_run(*files, width=80)))


def test_a_diff_adds_layers_and_constants():
    text = shown(CHANGED._replace(written=False), diff=True, linted=False, width=80)
    check_golden("screens/fix-diff", text)


def test_a_quiet_report_says_nothing_of_a_model_left_alone():
    assert shown(LEFT, quiet=True) == ""


def test_reasons_cannot_break_the_report():
    for output_format in ("full", "concise", "github", "junit", "json", "sarif"):
        text = shown(FAILED, output_format)
        assert "\x1b" not in text
        assert "could not be" in text


def test_long_names_lose_their_middle():
    assert cut("a" * 30 + "b" * 60, WIDEST) == "a" * 18 + "..." + "b" * 35
    assert cut("short", WIDEST) == "short"


def test_junit_counts_the_fix_as_a_case(told):
    told(shown(CHANGED, "junit"))
    assert 'tests="1" failures="1"' in shown(CHANGED._replace(written=False), "junit", diff=True)
    assert 'tests="1" failures="1"' in shown(FAILED, "junit")


def test_json_has_every_class_that_stays():
    (file,) = json.loads(shown(KEPT, "json"))["files"]
    assert file["fix"]["left"][0] == {
        "have": 6, "want": 8, "layers": ["a", "b", "c", "d"], "reason": "it is in a loop"
    }  # fmt: skip
