"""Under `faster`, hazards that channel counts or rewriting can step around: the cheaper model is taken."""

from __future__ import annotations

import pytest

from onnxlint_cmsis.cli.fix_promises import fix_request
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers import attempt
from onnxlint_cmsis.fixers.fix_model import fix_model
from support.dims_graphs import Builder

SIZED, REWRITTEN = 8, 4
"""Channels in front of the layer for which another channel count costs less, and for which rewriting does."""


def fixed(channels):
    """The fix of a 1x5 layer of stride 2 that is wrong on Cortex-M55."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 1, 256), 4, channels, name="before")
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    value = build.op("Conv", value, build.weights(64, channels, 1, 5), build.weights(64), name="row", **shape)
    model = build.model(build.conv(value, 64, 4, name="after")).SerializeToString()
    chosen = make_settings(fix_policy="faster", targets=["cortex-m55"])
    return fix_model("test.onnx", model, fix_request(chosen)).result


@pytest.fixture
def worked_out(monkeypatch):
    """What each model that is worked out costs."""
    costs, real = [], attempt._in_turn

    def in_turn(*arguments):
        answer = real(*arguments)
        costs.append(attempt.cost_of(answer.end))
        return answer

    monkeypatch.setattr(attempt, "_in_turn", in_turn)
    return costs


def test_a_second_model_that_promises_less_is_worked_out_and_taken(worked_out):
    result = fixed(REWRITTEN)
    assert [rewrite.repair for rewrite in result.rewrites] == ["wider-window"]
    assert result.classes == ()
    first, second = worked_out
    assert second < first


def test_a_second_model_that_promises_no_less_is_not_worked_out(worked_out, monkeypatch):
    result = fixed(SIZED)
    assert result.rewrites == ()
    assert [(group.have, group.want) for group in result.classes] == [(8, 9)]
    assert len(worked_out) == 1
    monkeypatch.setattr(attempt, "promised", lambda _found: (0, 0, 0))
    assert fixed(SIZED).classes == result.classes
    _, first, second = worked_out
    assert second >= first, "nothing better was passed over"


@pytest.mark.parametrize("channels", [SIZED, REWRITTEN])
def test_a_model_costs_what_its_plan_promises(worked_out, monkeypatch, channels):
    promises, real = [], attempt.promised
    monkeypatch.setattr(attempt, "promised", lambda rewritten: promises.append(real(rewritten)) or (0, 0, 0))
    fixed(channels)
    assert promises == [worked_out[1]]
