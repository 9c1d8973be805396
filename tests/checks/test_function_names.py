"""Functions of CMSIS-NN that messages name are in the release that they speak of.

`cmsis_nn_functions.json` has the functions for s8, s16 and s4 of each release, as its sources declare or define them.
"""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest

from onnxlint_cmsis.checks.rule_registry import every_rule
from support import paths
from support.linter import linted
from support.quantized_models import Qdq, convolution

FUNCTIONS = {
    release: frozenset(names)
    for release, names in json.loads((paths.DATA / "cmsis_nn_functions.json").read_text(encoding="utf-8")).items()
}
EVERYWHERE = frozenset.union(*FUNCTIONS.values())
NAME = re.compile(r"\barm_\w*_(?:s4|s8|s16)(?!\w)(?!\.[ch])")
"""A function by its whole name, not the file of it."""


def sigmoid(kind):
    return Qdq(kind=kind).layer("Sigmoid").rounded(1 / 256).model()


def pooled(kind):
    return Qdq(kind=kind).layer("AveragePool", kernel_shape=[2, 2]).rounded().model()


MODELS = {
    "convolution of int8": lambda: convolution(Qdq()).model(),
    "convolution of int16": lambda: convolution(Qdq(kind=np.int16)).model(),
    "int16 with a zero-point": lambda: convolution(Qdq(kind=np.int16, zero=3)).model(),
    "sigmoid of int8": lambda: sigmoid(np.int8),
    "sigmoid of int16": lambda: sigmoid(np.int16),
    "pool of int16": lambda: pooled(np.int16),
}


def test_every_name_in_the_source_is_one_of_a_release():
    strange = set()
    for path in (paths.ROOT / "onnxlint_cmsis").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strange |= {name for name in NAME.findall(node.value) if name not in EVERYWHERE}
    assert strange == set()


def test_every_name_in_a_rule_is_one_of_a_release():
    names = {name for rule in every_rule() for name in NAME.findall(rule.docs)}
    assert len(names) > 10
    assert names <= EVERYWHERE


@pytest.mark.parametrize("release", FUNCTIONS)
@pytest.mark.parametrize("model", MODELS)
def test_findings_name_functions_of_their_release(model, release):
    settings = {"targets": ["cortex-m3", "cortex-m4", "cortex-m55"], "release": release, "min_level": "note"}
    findings = linted(MODELS[model](), **settings).findings
    told = " ".join(f"{finding.message} {finding.remedy}" for finding in findings)
    assert [name for name in NAME.findall(told) if name not in FUNCTIONS[release]] == []


@pytest.mark.parametrize("release", FUNCTIONS)
def test_a_sigmoid_of_int16_has_a_function_in_every_release(release):
    (finding,) = linted(sigmoid(np.int16), targets=["cortex-m4"], release=release, select=["CNN190"]).findings
    assert "can call arm_nn_activation_s16, which 4.0.0 and later have" in finding.message
    assert "arm_nn_activation_s16" in FUNCTIONS[release]
