"""The proof that lanes are what the analysis says: random models with dead channels, against ONNX Runtime."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.draws import draws
from support.lanes_checks import analysed, check_constants, check_removal, check_unread
from support.random_models import EXACT, LANES, random_models

Drawn = tuple[onnx.ModelProto, dict[str, np.ndarray]]
RELAXED = settings(max_examples=draws(150), deadline=None, suppress_health_check=list(HealthCheck))


@RELAXED
@given(random_models(LANES))
def test_known_values_are_observed(drawn: Drawn) -> None:
    check_constants(analysed(drawn[0]), drawn[1])


@RELAXED
@given(random_models(LANES))
def test_what_is_not_read_may_be_anything(drawn: Drawn) -> None:
    check_unread(analysed(drawn[0]), drawn[1])


@RELAXED
@given(random_models(LANES), st.data())
def test_lanes_that_may_go_change_no_output(drawn: Drawn, data: st.DataObject) -> None:
    analysis = analysed(drawn[0])
    unsafe = data.draw(st.booleans(), label="unsafe")
    removed = {}
    for lanes in analysis.lanes.classes.values():
        able = sorted((*lanes.exact, *(lanes.unsafe if unsafe else ())))
        if able:
            removed[lanes.leaf] = sorted(data.draw(st.sets(st.sampled_from(able)), label=f"class {lanes.leaf}"))
    removed = {leaf: chosen for leaf, chosen in removed.items() if chosen}
    if removed:
        check_removal(analysis, removed, drawn[1])


@RELAXED
@given(random_models(EXACT))
def test_integer_layers_without_all_that_may_go(drawn: Drawn) -> None:
    analysis = analysed(drawn[0])
    removed = {lanes.leaf: lanes.exact for lanes in analysis.lanes.classes.values() if lanes.exact}
    check_removal(analysis, removed, drawn[1])


@RELAXED
@given(random_models(LANES), st.integers(0, 200))
def test_an_analysis_that_ends_early_is_right_in_what_it_says(drawn: Drawn, most: int) -> None:
    with patch("onnxlint_cmsis.analysis.known_view.MAX_KNOWN", most):
        analysis = analysed(drawn[0])
    check_constants(analysis, drawn[1])
    check_unread(analysis, drawn[1])
    check_removal(
        analysis, {lanes.leaf: lanes.exact for lanes in analysis.lanes.classes.values() if lanes.exact}, drawn[1]
    )
    if not analysis.lanes.view.ended:
        assert analysis.lanes.classes == analysed(drawn[0]).lanes.classes
