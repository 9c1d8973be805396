"""Sizes that a file states and TensorFlow Lite Micro believes, held against PyPI's `tflite-micro` and LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.fixers.proof.litert_process import runnable
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.host.hosts import REFERENCE
from support.host_agreement import Device, litert, random_values
from support.linter import analysed, linted
from support.paths import SHARED
from support.rule_examples import FILES

CASES = SHARED / "cases"
DILATED = (
    *("reports/a1_dil2_same_int8_dyn", "reports/a1_dil3_same_float_dyn", "reports/b_dilconv2d_int8"),
    *("users/dilated", "users/vib_int8", "reports/v1_dyn_int8"),
)
PADDED = ("reports/a5_s2b_relu_int8", "users/s2b")
BLOCKS = [text for text in FILES if text.startswith("SPACE_TO_BATCH_ND")]
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not there")


def causes_of(model, name="m.tflite") -> set[str]:
    result = linted(model, name, targets=("cortex-m4",))
    return {finding.cause for finding in result.findings if finding.code == "CNN402"}


@needs_cases
@pytest.mark.parametrize(("name", "cause"), [*((n, "sizes") for n in DILATED), *((n, "padding") for n in PADDED)])
def test_a_convolution_over_blocks_is_wrong(name, cause):
    assert cause in causes_of(CASES / f"{name}.tflite")


@needs_cases
@pytest.mark.parametrize("name", [*DILATED, *PADDED])
def test_no_layer_over_blocks_is_told_to_be_equal_to_the_desktop(name):
    hosts = analysed(CASES / f"{name}.tflite", targets=("cortex-m4",)).against_hosts[0]
    blocks = [layer for layer in hosts.layers if layer.node.op_type == "SPACE_TO_BATCH_ND"]
    assert blocks
    assert all(layer.bound.steps is None for layer in blocks)


@needs_cases
def test_the_same_model_with_a_fixed_batch_is_clean():
    assert not causes_of(CASES / "reports/v1_st_int8.tflite")


@pytest.mark.parametrize("text", BLOCKS)
def test_blocks_differ_from_the_desktop_where_that_is_told(text):
    model = read_tflite("m.tflite", FILES[text]())
    main = model.subgraphs[0]
    feed = random_values(main.tensors[0], np.random.default_rng(0))
    device = Device(model, [feed]).tensor(main.outputs[0])
    (host,) = litert(runnable(model), REFERENCE, {0: feed}, main.outputs)
    equal = device.shape == host.shape and bool((device == host).all())
    assert equal != bool(causes_of(FILES[text]()))
