"""Facts of a certificate: each holds by hand, and a lie in any of them is named."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from onnxlint_cmsis.analysis.certificate.facts import CertifiedTensor, LaneSums
from onnxlint_cmsis.analysis.certificate.stating import certificate, untrue
from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import ONNX, format_of
from onnxlint_cmsis.operators.integers import requantized
from onnxlint_cmsis.output.fix_json import plain_data
from support import linter, paths
from support.two_convolutions import steady_pair


@pytest.mark.parametrize("name", ["vww96_int8_tf.onnx", "tflite/vww_96_int8.tflite"])
def test_the_fix_of_a_real_model_is_equal_for_every_input(name: str) -> None:
    """Person detection of MLPerf Tiny, from which 85 % of the weights go; the runs beside are few."""
    path = paths.SHARED / "models" / name
    if not path.exists():
        pytest.skip("needs the folder `shared` beside the project")
    if path.suffix == ".tflite":
        pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    fixed = linter.fixed(path.read_bytes(), f"m{path.suffix}")
    assert fixed.model is not None
    assert len(fixed.model) < path.stat().st_size / 2
    form = format_of(name)
    assert verify(form.load(str(path)), form.load(path.name, fixed.model)).equal
    assert fixed.result.certificate is not None
    assert fixed.result.proof is not None
    assert fixed.result.proof.every_input
    assert fixed.result.proof.inputs <= 3
    for layer in fixed.result.certificate.tensors:
        holds_by_hand(layer)


def holds_by_hand(layer: CertifiedTensor) -> None:
    """Facts of a certificate that need no model: what stays, and constants that both ends of a sum are rounded to."""
    assert len(layer.lanes) == layer.after
    assert len(layer.gone) == len(layer.constants)
    assert not {*layer.lanes} & {*layer.gone}
    sums = layer.gone_sums
    for position, constant in enumerate(layer.constants if sums else ()):
        assert sums is not None
        row = LaneSums(*(column[position : position + 1] for column in sums))
        (low,), (high,), (multiplier,), (shift,) = row[1:5]
        ends = [requantized(end, multiplier, shift, 8) for end in (low, high)]
        held = {min(max(n + row.zero_point[0], row.least[0]), row.most[0]) for side in ends for n in side}
        assert constant is None or held == {constant}


def leaves(data: object, *where: object) -> Iterator[tuple[object, ...]]:
    """Places of the facts of a certificate."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    told = [leaf for name, part in parts for leaf in leaves(part, *where, name)]
    yield from told or ([where] if not isinstance(data, (dict, list)) else [])


def test_each_fact_of_a_certificate_is_held_against_the_files() -> None:
    """Any number one off, another word, a fact too many and one too few are refused, and named."""
    pair = steady_pair()
    own = certificate(verify(*(ONNX.load("m.onnx", data) for data in pair)), *pair)
    assert own is not None
    (layer, reader) = own.tensors
    assert (layer.lanes, layer.gone, layer.constants) == ((0, 2), (1,), (2,))
    assert reader.lanes == (0, 1)
    assert (layer.gone_sums or layer.sums).bias == (500,)
    holds_by_hand(layer)
    true = json.loads(json.dumps(plain_data(own)))
    assert untrue(true, true) is None
    for where in leaves(true):
        lie = json.loads(json.dumps(true))
        inside = lie
        for name in where[:-1]:
            inside = inside[name]
        value = inside[where[-1]]
        for other in (None if value is not None else 0, [value], f"{value} "):
            inside[where[-1]] = other
            assert str(where[-1]) in untrue(lie, true)
        if isinstance(value, (int, bool)):
            inside[where[-1]] = value + 1 if type(value) is int else not value
            assert str(where[-1]) in untrue(lie, true)
        if isinstance(inside, dict):
            del inside[where[-1]]
            assert untrue(lie, true).endswith(f"does not tell {where[-1]}")
    assert "means nothing" in untrue({**true, "more": 1}, true)
