"""Layers in bands with their halo: the checker says "equal for every input" of them, and of no wrong ones."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from onnxlint_cmsis.analysis.certificate.comparison import Verification
from onnxlint_cmsis.analysis.certificate.unequal import reasons
from onnxlint_cmsis.analysis.certificate.verifying import verify
from onnxlint_cmsis.formats.format import TFLITE
from support.banded_nets import Banded, Layer, Wrong
from support.tflm_runs import wheel_run

WHEEL = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="needs PyPI's tflite-micro")
AXES = pytest.mark.parametrize("axis", [1, 2], ids=["rows", "columns"])
CHAIN = (Layer("CONV_2D", 4), Layer("DEPTHWISE_CONV_2D", 4, (3, 5)), Layer("CONV_2D", 6, (3, 3), 2))
CHAINS: dict[str, tuple[tuple[Layer, ...], tuple[int, int], tuple[int, ...]]] = {
    "residual, depthwise, stride": (CHAIN, (12, 9), (2, 4, 6)),
    "odd sizes": (CHAIN, (13, 7), (3, 4, 7)),
    "dilation": ((Layer("DEPTHWISE_CONV_2D", 3, dilation=2), Layer("CONV_2D", 5, (5, 1))), (15, 6), (7, 15)),
    "valid": ((Layer("CONV_2D", 4, padding="VALID"), Layer("CONV_2D", 4, (1, 1), 2)), (14, 8), (2, 6)),
    "stride over rows that nothing reads": ((Layer("CONV_2D", 4, (1, 1), 3), Layer("CONV_2D", 2)), (16, 9), (2, 6)),
    "one column that is padded": ((Layer("CONV_2D", 4), Layer("DEPTHWISE_CONV_2D", 4, (3, 5))), (20, 1), (9, 20)),
    "one column": ((Layer("CONV_2D", 4, (5, 1)), Layer("DEPTHWISE_CONV_2D", 4, (3, 1))), (20, 1), (9, 20)),
    "largest": ((Layer("CONV_2D", 4), Layer("MAX_POOL_2D", 4, (2, 2), 2, padding="VALID")), (12, 8), (3, 6)),
    "average": ((Layer("CONV_2D", 4), Layer("AVERAGE_POOL_2D", 4, (3, 2), 2, padding="VALID")), (13, 8), (3, 6)),
}


def held(old: bytes, new: bytes) -> Verification:
    return verify(TFLITE.load("m.tflite", old), TFLITE.load("m.tflite", new))


def pair(name: str, wrong: Wrong | None = None, kind: str = "INT8", axis: int = 1) -> tuple[bytes, bytes]:
    layers, sizes, ends = CHAINS[name]
    return Banded(layers, sizes, kind, axis).whole(), Banded(layers, sizes, kind, axis).bands(ends, wrong)


@pytest.mark.parametrize("cut", ["GATHER", "SLICE"])
@pytest.mark.parametrize("kind", ["INT8", "INT16"])
@pytest.mark.parametrize("name", CHAINS)
@AXES
def test_bands_are_equal_for_every_input(name: str, kind: str, cut: str, axis: int) -> None:
    assert held(*pair(name, Wrong(cut=cut), kind, axis)).faults == (None,)


@WHEEL
@pytest.mark.parametrize("name", CHAINS)
@AXES
def test_bands_compute_the_same(name: str, axis: int) -> None:
    old, new = map(wheel_run, pair(name, axis=axis))
    assert old.outputs == new.outputs != ()


def swapped(parts: list[int]) -> list[int]:
    return [*parts[1:2], *parts[:1], *parts[2:]]


WRONG: dict[str, Wrong] = {
    "a halo that lacks a row": Wrong(rows=lambda rows: [*rows[:-1], rows[-2]]),
    "a halo that lacks the first row": Wrong(rows=lambda rows: [rows[1], *rows[1:]]),
    "rows one further": Wrong(rows=lambda rows: [min(row + 1, 11) for row in rows]),
    "rows one back": Wrong(rows=lambda rows: [max(row - 1, 0) for row in rows]),
    "rows in reverse": Wrong(rows=lambda rows: rows[::-1]),
    "bands in another order": Wrong(joined=swapped),
    "a band twice": Wrong(joined=lambda parts: [parts[0], parts[0], parts[2]]),
    "padding below in place of above": Wrong(amounts=lambda rows: rows[::-1]),
    "another filler than the zero-point": Wrong(pad="PADV2"),
    "another zero-point behind the padding": Wrong(zero=1),
}


@pytest.mark.parametrize("name", WRONG)
@AXES
def test_wrong_bands_are_not_equal(name: str, axis: int) -> None:
    old, new = pair("residual, depthwise, stride", WRONG[name], axis=axis)
    known = held(old, new)
    assert not known.equal
    assert "'" in str(reasons(known)[0])


@WHEEL
@pytest.mark.parametrize("name", [name for name in WRONG if not name.startswith("another")])
@AXES
def test_wrong_bands_compute_otherwise(name: str, axis: int) -> None:
    old, new = map(wheel_run, pair("residual, depthwise, stride", WRONG[name], axis=axis))
    assert old.outputs != new.outputs


@pytest.mark.parametrize("spans", [((0, 3), (2, 5)), ((0, 2), (1, 4), (5, 6)), ((1, 4), (3, 6))])
@AXES
def test_a_line_that_two_bands_make_is_not_equal(spans: tuple[tuple[int, int], ...], axis: int) -> None:
    layers, sizes, _ = CHAINS["residual, depthwise, stride"]
    whole, bands = Banded(layers, sizes, axis=axis).whole(), Banded(layers, sizes, axis=axis).joined(spans)
    assert not held(whole, bands).equal


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@AXES
def test_padding_around_a_pool_is_not_what_the_pool_leaves_out(kind: str, axis: int) -> None:
    layers = (Layer("CONV_2D", 4), Layer(kind, 4, (3, 3), 1))
    whole, bands = (Banded(layers, (12, 8), axis=axis) for _ in range(2))
    assert not held(whole.whole(), bands.bands((6, 12))).equal
