"""An operator is added by its record: without it nothing is followed, with it classes, lanes and fixes know it.

Tried on a copy of the tree, from which the record of an operator is first taken out.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from support.dims_graphs import Builder
from support.tree_copy import TreeCopy

FAMILY = "onnxlint_cmsis/operators/curve.py"
RECORD = re.compile(r'^    curve\("Softsign".*\n', re.M)
ROUTE, CUT = ("gaining.onnx", "route"), ("dead.onnx", "faster")


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """The copy without the record, and two models with such an operator behind a layer."""
    copy = TreeCopy(tmp_path_factory.mktemp("tree"))
    (row,) = RECORD.findall((copy.folder / FAMILY).read_text(encoding="utf-8"))
    copy.replace(FAMILY, row, "")
    (copy.folder / "gaining.onnx").write_bytes(gaining())
    (copy.folder / "dead.onnx").write_bytes(dead())
    return copy, row


def gaining():
    """A depthwise multiplier of 3 that 4 would be cheaper than."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 5, name="conv0")
    value = build.op("Conv", value, build.weights(15, 1, 3, 3), name="depthwise", kernel_shape=[3, 3], group=5)
    return build.model(build.conv(build.op("Softsign", value), 15, 2, name="conv1")).SerializeToString()


def dead():
    """Eight of twenty channels have neither weights nor bias."""
    build = Builder()
    weights = build.random.uniform(-1, 1, (20, 4, 1, 1)).astype(np.float32)
    weights[5:13] = 0
    inputs = [build.input("x", 1, 4, 8, 8), build.const(weights), build.const(np.zeros(20, np.float32))]
    value = build.op("Softsign", build.op("Conv", *inputs, name="conv0"))
    return build.model(build.conv(value, 20, 8, name="conv1")).SerializeToString()


def classes(copy, model, policy):
    """Sizes before and after of the classes that --diff would change."""
    options = ("--isolated", "--diff", "--target", "cortex-m4", "--output-format", "json", "--fix-policy", policy)
    done = copy.python("-m", "onnxlint_cmsis", *options, model)
    (file,) = json.loads(done.stdout)["files"]
    assert file["fix"]["proof"] is not None or not file["fix"]["changed"]
    return [(group["have"], group["want"]) for group in file["fix"]["classes"]]


def test_one_record_makes_classes_lanes_and_fixes_know_an_operator(without, told):
    copy, row = without
    shown = copy.python(
        "-m", "onnxlint_cmsis", "--isolated", "--explain", "--select", "CNN1", "--min-level", "note", "gaining.onnx"
    )
    told(shown.stdout)
    assert [classes(copy, *options) for options in (ROUTE, CUT)] == [[], []]
    copy.replace(FAMILY, "\nCURVES = (\n", f"\nCURVES = (\n{row}")
    shown = copy.python(
        "-m", "onnxlint_cmsis", "--isolated", "--explain", "--select", "CNN1", "--min-level", "note", "gaining.onnx"
    )
    assert "not known" not in shown.stdout
    assert classes(copy, *ROUTE) == [(3, 4)]
    assert classes(copy, *CUT) == [(20, 12)]
