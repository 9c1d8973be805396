"""Fields of `.tflite` files changed one at a time: what is called equal computes the same in LiteRT."""

from __future__ import annotations

import os
import random
import struct
from collections import Counter

import pytest

from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from support.draws import draws
from support.tflite_edits import EDITS
from support.tflite_fields import DIFFERS, EQUAL, REFUSED, Change, changed, described, told
from support.tflite_models import one_operator, tensor
from support.tflite_steps import as_converted, random_chain
from support.tflite_writer import write

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES") or draws(60))
"""Changes of each file."""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_changed_field_is_refused_or_changes_nothing(seed: int) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    data = as_converted(seed) if seed == 1 else random_chain(seed, wide=seed == 3)
    counted: Counter[str] = Counter()
    for number in range(EXAMPLES):
        change = changed(data, random.Random(f"{seed} {number}"))
        if change is not None and change.data != data:
            end = told(data, change, number)
            assert end != DIFFERS, (change.field, number)
            counted[end] += 1
    assert counted[EQUAL] > EXAMPLES // 12
    assert counted[REFUSED] > EXAMPLES // 12


def test_a_reshape_whose_shape_is_left_out_is_read() -> None:
    """Runtimes take the shape of the options then."""
    model = one_operator("RESHAPE", [tensor("x", [2, 3]), tensor("y", [6])], ("ReshapeOptions", {"new_shape": [6]}))
    model["subgraphs"][0]["operators"][0]["inputs"] = [0, -1]
    loaded = TFLITE.load("m.tflite", write(model))
    assert loaded.graph.nodes[0].inputs[1:] in ((), ("",))
    assert loaded.computed_sizes() == {"y": (6,)}


@pytest.mark.parametrize("name", [*EDITS])
def test_an_edit_is_refused_or_changes_nothing(name: str) -> None:
    """Of each kind at least one edit is written."""
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    data = as_converted(4)
    counted: Counter[str] = Counter()
    for number in range(max(EXAMPLES // 6, 3)):
        model, chance = described(root_of(SCHEMA, data)), random.Random(f"{name} {number}")
        try:
            EDITS[name](model, chance)
            edit = Change(name, write(model))
        except (ValueError, LookupError, TypeError, OverflowError, struct.error):
            continue
        end = told(data, edit, number)
        assert end != DIFFERS, number
        counted[end] += 1
    assert counted
