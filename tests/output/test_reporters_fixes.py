"""What is said of fixes, on results made up for the test."""

from __future__ import annotations

import json

from onnxlint_cmsis.analysis.results import (
    WIDEST,
    ClassChange,
    Difference,
    FileResult,
    FixResult,
    LayerChange,
    Locked,
    Numbers,
    Proof,
    Repair,
    SkippedClass,
    TargetTotal,
    TensorChange,
    ValueChange,
    cut,
)
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.formats import render
from support.cli_fakes import NASTY, TARGET, a_run

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
        TargetTotal(TARGET, "cortex-m55", 1000, 1100, 150, 2),
        TargetTotal("cortex-m0, x", "cortex-m3", 10, 9, 0, 0),
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


def shown(fix, output_format="full", **more):
    return render(output_format, a_run(FileResult("m.onnx", (), Level.WARNING, fix=fix), **more))


def test_a_fix_is_told_with_repairs_price_proof_and_what_is_locked():
    text = shown(CHANGED)
    assert text.splitlines() == [
        "m.onnx: fixed (policy faster)",
        "    class    4 -> 5 padded, FREE: made by 'conv0'; read by 'row'",
        "    class    20 -> 12 cut (6 constant, 2 unread of 20), COUPLED: made by 'a', 'b', 'c' and 2 more",
        "    repairs  conv-1xn-wrong-values of 'row' on cortex-m55 (CMSIS-NN 7.0.0, gcc): Wrong values.",
        f"    total    {TARGET}: 1,000 -> 1,100 (+10.0 %) predicted instructions (not cycles); stepping around hazards "
        "alone costs +150; 2 layers of unknown cost not counted",
        "    total    cortex-m0, x: 10 -> 9 (-10.0 %) predicted instructions (not cycles), as on cortex-m3",
        "    MACs     500 -> 600 (+20.0 %)",
        "    stored   2 constants changed, 64 -> 100 (+56.2 %) bytes",
        "    file     9,000 -> 9,100 (+1.1 %) bytes",
        "    proof    16 inputs in ONNX Runtime, before and after: largest difference 2e-06, 1e-07 of the range of 'y'",
        "    locked   3 -> 4 would save 70 predicted instructions (not cycles); LOCKED by graph input x: 'stem'",
        "    locked   5 channels stay; LOCKED by graph output y: 'last'",
        "",
        "1 of 1 file fixed. No findings in 1 file for cortex-m55 (CMSIS-NN 7.0.0, gcc)",
    ]


def test_a_diff_adds_layers_and_constants():
    text = shown(CHANGED._replace(written=False), diff=True, linted=False)
    assert "m.onnx: would be fixed (policy faster)" in text
    assert "    layer    'row': 4 in, 8 out -> 5 in, 8 out\n             cortex-m55: cost unknown, old -> new\n" in text
    assert "\n             cortex-m0: 9 -> 8 (-11.1 %) predicted instructions, k\n" in text
    assert "    tensor   'w': [4,4] -> [5,4], 64 -> 80 bytes\n" in text
    assert "    tensor   'w_2': none -> [5], 0 -> 20 bytes\n" in text
    assert text.endswith("1 of 1 file would be fixed\n")


def test_a_model_left_alone_says_why_and_what_is_locked():
    assert shown(LEFT).splitlines()[:2] == [
        "m.onnx: left as it is: no other sizes cost less",
        "    locked   3 -> 4 would save 70 predicted instructions (not cycles); LOCKED by graph input x: 'stem'",
    ]
    assert len(shown(LEFT, quiet=True).splitlines()) == 1


def test_what_inexact_repairs_changed_is_no_part_of_the_proof():
    assert CHANGED.proof is not None
    exact = CHANGED.proof._replace(differences=(), written=False)
    changes = ValueChange("y", 0.5, 0.5, 1.0), ValueChange("z", 1.0, 2.0, 0.5, 0.5)
    told = shown(CHANGED._replace(proof=exact, changes=changes))
    assert "    changes  'y' by at most 1 step of 0.5 (0.5), with ONNX Runtime's optimisers off" in told.splitlines()
    assert "    changes  'z' by at most 0.5 steps of 2 (1)" in told.splitlines()
    assert "before and after all but these changes: every output is bit for bit the same" in told


def test_reasons_cannot_break_the_report():
    for output_format in ("full", "concise", "github", "junit", "json", "sarif"):
        text = shown(FAILED, output_format)
        assert "\x1b" not in text
        assert "could not be written" in text


def test_long_names_lose_their_middle():
    assert cut("a" * 30 + "b" * 60, WIDEST) == "a" * 18 + "..." + "b" * 35
    assert cut("short", WIDEST) == "short"


def test_junit_counts_the_fix_as_a_case():
    assert '<testsuites name="onnxlint-cmsis" tests="1" failures="0" errors="0">' in shown(CHANGED, "junit")
    assert 'tests="1" failures="1"' in shown(CHANGED._replace(written=False), "junit", diff=True)
    assert 'tests="1" failures="1"' in shown(FAILED, "junit")


def test_every_class_that_stays_is_told_with_its_reason():
    lines = shown(KEPT).splitlines()
    assert lines[0] == "m.onnx: left as it is: no other sizes cost less"
    assert lines[1] == "    left     6 -> 8 not done: it is in a loop: 'a', 'b', 'c' and 1 more"
    assert lines[2].startswith("    left     4 -> 5 not done: ")
    assert lines[3].startswith("    locked   ")
    changed = CHANGED._replace(left=KEPT.left)
    assert "    left     6 -> 8 not done: it is in a loop: 'a', 'b', 'c' and 1 more" in shown(changed).splitlines()


def test_json_has_every_class_that_stays():
    (file,) = json.loads(shown(KEPT, "json"))["files"]
    assert file["fix"]["left"][0] == {
        "have": 6, "want": 8, "layers": ["a", "b", "c", "d"], "reason": "it is in a loop"
    }  # fmt: skip
