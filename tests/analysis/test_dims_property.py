"""The proof that the classes are right: resize them in random models and compare shapes and results."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.ground.types import Freedom
from support.dims_graphs import check_results, check_shapes, resize, run
from support.draws import draws
from support.models import read
from support.random_models import GEOMETRY, Feed, random_models


@settings(max_examples=draws(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_models(GEOMETRY), st.data())
def test_resized_classes_keep_shapes_and_results(drawn: tuple[onnx.ModelProto, Feed], data: st.DataObject) -> None:
    model, feed = drawn
    dimensions = analyse(read(model))
    movable = [group for group in dimensions.classes if group.freedom is not Freedom.LOCKED]
    added = {group.id: data.draw(st.integers(0, 2), label=f"class {group.id}") for group in movable}
    kept = {group.id: (*range(group.size), *[None] * added[group.id]) for group in movable}
    noise = np.random.default_rng(2) if data.draw(st.booleans(), label="noise") else None
    resized_model = resize(model, dimensions, kept, noise)
    check_shapes(resized_model, dimensions, {group.id: group.size + added[group.id] for group in movable})
    check_results(run(model, feed), run(resized_model, feed))
