"""Advice in few words: what the default text prints, `--explain` the rest."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.checks.class_facts import ClassFact
from onnxlint_cmsis.checks.class_repairs import priced
from onnxlint_cmsis.checks.quantizer_advice import brief_advice
from onnxlint_cmsis.checks.subjects import way_out
from onnxlint_cmsis.ground.findings import Finding, Location, Resize
from onnxlint_cmsis.ground.types import Freedom, Level
from support.goldens import Told
from support.targets import target_of


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("Quantize it.", "Quantize it."),
        (
            "Quantize it: with ONNX Runtime's quantizer, per_channel=True.",
            "Quantize it (ONNX Runtime: per_channel=True).",
        ),
        (
            'Give it one: with ONNX Runtime\'s quantizer, extra_options={"TensorQuantOverrides": {"a": [{}]}}.',
            "Give it one (see --explain).",
        ),
    ],
)
def test_the_option_of_a_quantizer_stands_in_brackets(text: str, brief: str) -> None:
    assert brief_advice(text) == brief


def repaired(want: int) -> Finding:
    """A finding that asks for 17 channels, where the plan gives `want`."""
    change = Resize("input_dims.c", "x", 1, 12, 17, Freedom.FREE)
    remedy = f"pads=[0, 0] works. {way_out(change, 'arm_convolve_s8')}"
    finding = Finding(
        "CNN302", "wrong-result", Level.ERROR, "Conv 'u1' is wrong", Location("m.onnx", "u1"), resize=change,
        wanted="arm_convolve_s8", properties={"hazard": "h"}, remedy=remedy,
    )  # fmt: skip
    group = DimensionClass(0, 12, (), (), (), Freedom.FREE, ())
    location, targets = Location("m.onnx", "u1"), (target_of("m4", "7.0.0"),)
    fact = ClassFact(
        group, want, location, targets, saved=(-100,), plan_saved=(-100,), bytes=5, repaired=(("h", "u1"),)
    )
    (priced_finding,) = priced([finding], [fact])
    return priced_finding


def test_a_channel_count_that_fix_gives_is_told_once(told: Told) -> None:
    finding = repaired(17)
    told(finding.brief_remedy)
    told(finding.remedy)


def test_a_channel_count_that_fix_does_not_give_stays(told: Told) -> None:
    told(repaired(24).brief_remedy)
