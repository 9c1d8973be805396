"""What is said to do about operators of a `.tflite` file, where the operator and its tensors decide."""

from __future__ import annotations

import numpy as np
import pytest

from onnxlint_cmsis.checks.rule_registry import rule
from onnxlint_cmsis.runtimes.remark import FIXED_BATCH
from support.linter import linted
from support.tflm_drafts import Draft, Operands

SCALE = {"scale": [0.5], "zero_point": [0]}
PLANE, TIME = [1, 25, 5, 8], [1, 64, 8]
NOTHING = "Nothing: it runs, slower than an operator with a CMSIS-NN kernel."


def advice(draft: Draft) -> dict[str, str]:
    """What is said to do, by operator."""
    findings = linted(draft.file(), "m.tflite", targets=("cortex-m4",)).told
    return {finding.location.node.split("#")[0]: finding.remedy for finding in findings if finding.code[:4] == "CNN4"}


def reduction(op: str, shape: list[int], axes: list[int]) -> Draft:
    draft = Draft(1, op)
    data = draft.tensor(shape, "INT8", **SCALE)
    numbers = draft.tensor([len(axes)], "INT32", np.array(axes, np.int32))
    kept = [1 if axis in [value % len(shape) for value in axes] else size for axis, size in enumerate(shape)]
    result = draft.tensor(kept, "INT8", **SCALE)
    draft.add(op, Operands([data, numbers], [result], ("ReducerOptions", {"keep_dims": True})))
    return draft


def one(op: str, shape: list[int]) -> Draft:
    draft = Draft(1, op)
    draft.add(op, Operands([draft.tensor(shape, "INT8", **SCALE)], [draft.tensor(shape, "INT8", **SCALE)]))
    return draft


@pytest.mark.parametrize(
    ("op", "shape", "axes", "do"),
    [
        ("MEAN", PLANE, [1, 2], "AveragePooling2D((25, 5)) in Keras, nn.AvgPool2d((25, 5)) in PyTorch."),
        ("MEAN", PLANE, [-2, -3], "AveragePooling2D((25, 5)) in Keras, nn.AvgPool2d((25, 5)) in PyTorch."),
        ("MEAN", TIME, [1], "AveragePooling1D(64) in Keras, nn.AvgPool1d(64) in PyTorch."),
        (
            "MEAN",
            TIME,
            [2],
            "Train with BatchNormalization right behind a Dense or Conv in place of LayerNormalization",
        ),
        ("MEAN", PLANE, [0], "Nothing: no pool runs over these axes."),
        ("REDUCE_MAX", PLANE, [1, 2], "MaxPooling2D((25, 5)) in Keras, nn.MaxPool2d((25, 5)) in PyTorch."),
        ("REDUCE_MAX", PLANE, [3], NOTHING),
    ],
)
def test_a_mean_or_maximum_is_told_its_pool(op: str, shape: list[int], axes: list[int], do: str) -> None:
    assert do in advice(reduction(op, shape, axes))[op]


@pytest.mark.parametrize(("op", "do"), [("GELU", "relu or silu"), ("EXP", "softplus"), ("LOG", "softplus")])
def test_curves_without_a_kernel_are_told_which_ones_have_one(op: str, do: str) -> None:
    assert do in advice(one(op, [1, 16]))[op]


def test_frames_of_five_axes_are_told_to_be_the_batch() -> None:
    """STRIDED_SLICE takes four axes, and TimeDistributed cuts frames out of five."""
    draft = Draft(1, "STRIDED_SLICE")
    data, result = draft.tensor([1, 6, 4, 4, 1], "INT8", **SCALE), draft.tensor([1, 4, 4, 1], "INT8", **SCALE)
    bounds = [draft.tensor([5], "INT32", np.array(values, np.int32)) for values in ([0] * 5, [1, 1, 4, 4, 1], [1] * 5)]
    draft.add("STRIDED_SLICE", Operands([data, *bounds], [result], ("StridedSliceOptions", {"shrink_axis_mask": 2})))
    assert "keras.Input(frame, batch_size=6)" in advice(draft)["STRIDED_SLICE"]


def test_a_tile_is_told_what_stretches_images() -> None:
    draft = Draft(1, "TILE")
    data, result = draft.tensor([1, 4, 4, 8], "INT8", **SCALE), draft.tensor([1, 8, 8, 8], "INT8", **SCALE)
    draft.add("TILE", Operands([data, draft.tensor([4], "INT32", np.array([1, 2, 2, 1], np.int32))], [result]))
    assert "Resizing(height, width, interpolation='nearest')" in advice(draft)["TILE"]


@pytest.mark.parametrize(
    ("constant", "do"), [(True, "Give both one shape"), (False, "Nothing: reference code repeats")]
)
def test_only_a_constant_is_stored_as_often_as_it_takes(*, constant: bool, do: str) -> None:
    draft = Draft(1, "MUL")
    values = np.ones((1, 1, 1, 8), np.int8) if constant else None
    operands = [draft.tensor(PLANE, "INT8", **SCALE), draft.tensor([1, 1, 1, 8], "INT8", values, **SCALE)]
    draft.add("MUL", Operands(operands, [draft.tensor(PLANE, "INT8", **SCALE)], ("MulOptions", {})))
    assert do in advice(draft)["MUL"]


def shaped(*, opened: bool) -> Draft:
    """A FILL of zeros whose size is computed: of a SHAPE, where the batch is open."""
    draft = Draft(1, "FILL")
    data, sizes = draft.tensor([1, 8], "INT8", **SCALE), draft.tensor([2], "INT32")
    if opened:
        draft.add("SHAPE", Operands([data], [sizes], ("ShapeOptions", {"out_type": "INT32"})))
    value, result = draft.tensor([], "INT8", np.zeros((), np.int8), **SCALE), draft.tensor([1, 8], "INT8", **SCALE)
    draft.add("FILL", Operands([sizes, value], [result]))
    return draft


def test_sizes_of_an_open_batch_are_told_to_fix_it() -> None:
    (generic,) = (cause.do for cause in rule("CNN401").causes if cause.key == "check")
    assert advice(shaped(opened=True))["FILL"] == FIXED_BATCH
    assert advice(shaped(opened=False))["FILL"] == generic


def test_means_that_need_different_pools_are_two_findings() -> None:
    draft = reduction("MEAN", PLANE, [1, 2])
    data, axes = draft.tensor(TIME, "INT8", **SCALE), draft.tensor([1], "INT32", np.array([1], np.int32))
    result = draft.tensor([1, 1, 8], "INT8", **SCALE)
    draft.add("MEAN", Operands([data, axes], [result], ("ReducerOptions", {"keep_dims": True})))
    findings = [said for said in linted(draft.file(), "m.tflite", targets=("cortex-m4",)).told if said.cause == "mean"]
    assert len({finding.group for finding in findings}) == 2
