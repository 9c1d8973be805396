"""Short names tell the layers of a model apart, and are never another layer's name."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.short_names import QUOTED, WIDEST, distinct_cuts, short_names

FUSED = [
    f"model/activation_{2 * n}/Relu;model/batch_normalization_{2 * n}/FusedBatchNormV3;model/conv2d_{n}/BiasAdd/Read"
    f"VariableOp/resource;model/conv2d_{n}/BiasAdd;model/depthwise_conv2d_11/depthwise;model/conv2d_{n}/Conv2D1_prequant"
    for n in range(5, 9)
]
"""Names that TensorFlow gives to fused convolutions."""


def test_a_fused_name_becomes_the_part_it_has_most_often() -> None:
    assert short_names(FUSED) == {name: f"conv2d_{n}" for n, name in zip(range(5, 9), FUSED, strict=True)}


def test_a_path_of_pytorch_becomes_its_module() -> None:
    names = ["/encoder/encoder.0/conv/Conv", "/encoder/encoder.0/conv_1/Conv", "/pool/Pool_1", "/pool/Pool", "/Concat"]
    short = short_names(names)
    assert short[names[0]] == "encoder.0.conv"
    assert short[names[1]] == "encoder.0.conv_1"
    assert short[names[2]] == "pool.Pool_1"
    assert short[names[4]] == "Concat"


def test_a_module_that_holds_others_keeps_the_operator() -> None:
    assert short_names(["/model/Add", "/model/head/Conv"]) == {
        "/model/Add": "model.Add",
        "/model/head/Conv": "model.head",
    }


def test_a_module_of_the_metadata_wins() -> None:
    assert short_names(["node_conv2d_3"], modules={"node_conv2d_3": "body.3"}) == {"node_conv2d_3": "body.3"}


PARTS = st.lists(st.sampled_from(["a", "conv", "conv_1", "Conv", "x.0", "x"]), min_size=1, max_size=4)
NAMES = st.lists(
    st.one_of(PARTS.map("/".join), PARTS.map(lambda p: "/" + "/".join(p)), PARTS.map(";".join)), max_size=9
)


@given(NAMES, NAMES)
def test_no_two_names_share_a_short_one(layers: list[str], others: list[str]) -> None:
    short = short_names(layers, others)
    shown = [short.get(name, name) for name in {*layers, *others}]
    assert len(set(shown)) == len(shown)


@given(NAMES.map(lambda names: [name * 30 for name in names]))
def test_long_names_without_a_short_form_stay_apart(layers: list[str]) -> None:
    short = short_names(layers)
    shown = [short.get(name, name) for name in {*layers}]
    assert len(set(shown)) == len(shown)
    assert all(len(name) <= WIDEST for name in shown)


@given(st.lists(st.text("ab~.2", min_size=1, max_size=40), max_size=30, unique=True), st.integers(8, 20))
def test_cells_that_are_cut_stay_apart(cells: list[str], width: int) -> None:
    cuts = distinct_cuts(cells, width)
    shown = [cuts.get(cell, cell) for cell in cells]
    assert len(set(shown)) == len(shown)
    assert all(len(cell) <= width for cell in shown)


def test_an_apostrophe_is_no_quote() -> None:
    assert re.findall(QUOTED, "Conv 'a b': the model's state and the layers' sums; see 'c'.") == ["a b", "c"]
