"""Lanes of the third-party models beside the repository, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.lanes import analyse_lanes
from onnxlint_cmsis.formats.onnx.load import load_model
from support.lanes_checks import analysed, check_constants, check_removal, check_unread
from support.third_party_models import NOT_RUN, SHARED, feed, model_names, needs_models, runnable


@needs_models
@pytest.mark.parametrize("name", [name for name in model_names() if name not in NOT_RUN])
def test_what_is_said_of_a_model_is_what_is_observed(name: str) -> None:
    analysis = analysed(runnable(name))
    inputs = feed(name, analysis.model)
    check_constants(analysis, inputs)
    check_unread(analysis, inputs)
    removed = {lanes.leaf: lanes.exact for lanes in analysis.lanes.classes.values() if lanes.exact}
    if removed:
        check_removal(analysis, removed, inputs)


@needs_models
def test_person_detection_reference_has_971_dead_outputs() -> None:
    """Outputs of pointwise layers that are one value for every input: the figures measured on the file."""
    loaded = load_model(SHARED / "vww96_int8_tf.onnx")
    graph = loaded.graph
    lanes = analyse_lanes(graph, analyse(graph), loaded.reader())
    dead = []
    for node in graph.nodes:
        if node.op_type == "Conv" and node.int("group", 1) == 1 and graph.shape(node.inputs[1])[2:] == (1, 1):
            dead.append(int((~np.isnan(lanes.constants_of(node.outputs[0], 1))).sum()))
    print(dead)
    assert sum(dead) == 971
