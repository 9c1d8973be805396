"""A measurement is fitted, and the time of other models that it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.timing.calibration import Calibration, TimingError, calibration_of
from onnxlint_cmsis.timing.cores import core_of
from onnxlint_cmsis.timing.device import Device
from onnxlint_cmsis.timing.fetches import Fetches
from onnxlint_cmsis.timing.fit import ERROR_OF_TOTAL, UNTOLD_ERROR, fitted, fitted_total
from onnxlint_cmsis.timing.predicted_time import predicted_time
from onnxlint_cmsis.timing.work import LayerWork
from support.tflite_models import conv_model
from support.tflite_writer import write

M4 = Device("cortex-m4", 100_000_000)
LAYERS = [
    LayerWork(kind, number, number, Fetches(weights, 4 * activations))
    for kind, number, weights, activations in (
        ("convolution", 900_000, 4000, 800),
        ("1x1", 400_000, 9000, 300),
        ("depthwise", 300_000, 0, 700),
        ("dense", 100_000, 8000, 20),
        ("average pool", 50_000, 0, 90),
        ("1x1", 700_000, 2000, 900),
    )
]


def cycles_of(board, layer):
    return board.cycles([layer])


@given(st.floats(0.5, 2), st.floats(0, 40), st.floats(0, 40), st.floats(0, 5000))
def test_a_board_of_the_model_is_found_again(scale, weights, activations, operator):
    board = Calibration("cortex-m4", scale, weights, activations, operator, 0.05, "")
    again = fitted(M4, LAYERS, [cycles_of(board, layer) for layer in LAYERS], "log")
    total = board.cycles(LAYERS)
    assert again.cycles(LAYERS) == pytest.approx(total, rel=0.03)
    assert again.error == 0.05
    assert min(again.scale, again.weights, again.activations, again.operator) >= 0


def test_layers_that_read_few_weights_take_their_memory_from_the_tables():
    """A fit of these would say that a line costs nothing, and dense nets would take no time."""
    device = M4._replace(weights="flash", arena="sram")
    few = [layer._replace(fetches=Fetches(1, layer.fetches.activations)) for layer in LAYERS]
    board = Calibration("cortex-m4", 1.1, 50, 0, 2000, 0.05, "")
    fit = fitted(device, few, [cycles_of(board, layer) for layer in few], "log")
    assert (fit.weights, fit.error) == ((7.5 + 30) / 2, UNTOLD_ERROR)
    assert fitted(device, LAYERS, [cycles_of(board, layer) for layer in LAYERS], "log").weights == pytest.approx(
        50, rel=0.02
    )


def test_residuals_are_the_error_that_is_promised():
    board = Calibration("cortex-m4", 1.2, 10, 0, 2000, 0.05, "")
    off = [1.3, 0.8, 1.2, 0.7, 1.0, 0.9]
    measured = [cycles_of(board, layer) * times for layer, times in zip(LAYERS, off, strict=True)]
    assert 0.1 < fitted(M4, LAYERS, measured, "log").error < 0.6


def test_a_total_scales_what_is_predicted():
    device = M4._replace(weights="flash", arena="sram", runtime="tflm")
    board = fitted_total(device, LAYERS, 4_000_000, "total")
    assert board.cycles(LAYERS) == pytest.approx(4_000_000, rel=1e-4)
    assert board.error == ERROR_OF_TOTAL
    assert board.weights / board.scale == pytest.approx((7.5 + 30) / 2, rel=1e-4)


@pytest.mark.parametrize(
    ("device", "cycles", "said"),
    [
        (M4, 5_000, "less than 100,000 cycles"),
        (M4, 400_000_000, "its unit is no cycle"),
        (M4, 0, "nothing of known cost was measured"),
        (M4._replace(cpu="cortex-m3"), 4_000_000, "no public measurement of cortex-m3"),
    ],
)
def test_a_total_that_says_too_little_is_refused(device, cycles, said):
    with pytest.raises(TimingError, match=said):
        fitted_total(device, LAYERS, cycles, "total")


def test_a_calibration_goes_before_memories_and_runtimes():
    board = Calibration("cortex-m4", 1.5, 0, 0, 0, 0.08, "kws.tflite, log.csv")
    time = predicted_time(M4._replace(calibration=board, weights="mram"), LAYERS, 0)
    core = core_of("cortex-m4")
    middle = 1.5 * sum(layer.least * core.factor(layer.kind) for layer in LAYERS)
    assert time.cycles == pytest.approx((0.92 * middle, 1.08 * middle))
    assert time.is_number
    assert "± 8 % at 100 MHz (calibrated with kws.tflite, log.csv)" in time.text
    other = predicted_time(Device("cortex-m7", 10**8, calibration=board), LAYERS, 0)
    assert other.calibrated == ""


def test_a_file_is_read_as_it_was_written():
    board = Calibration("cortex-m55", 1.1, 12.5, 0.0, 900.0, 0.07, "a.tflite, log")
    assert calibration_of(board.text()) == board


GOOD = json.loads(Calibration("cortex-m4", 1, 0, 0, 0, 0.1, "x").text())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is no JSON"),
        ("[]", "it is no calibration of version 1"),
        (json.dumps({**GOOD, "version": 2}), "it is no calibration of version 1"),
        (json.dumps({**GOOD, "more": 1}), "it has other fields than cpu, scale"),
        (json.dumps({**GOOD, "scale": "1"}), "it has other fields than"),
        (json.dumps({**GOOD, "scale": -1}), "it has other fields than"),
        (json.dumps({**GOOD, "cpu": "z80"}), "'z80' has no factors"),
        (json.dumps({**GOOD, "scale": 0}), "scale is not between 0.25 and 4.0"),
        (json.dumps({**GOOD, "error": 2}), "or error is above 0.5"),
        (json.dumps({**GOOD, "source": "a\x1b[2Jb"}), "source is no printable text"),
        (json.dumps({**GOOD, "source": ["x"]}), "source is no printable text"),
        ("[" * 50_000, "it is no JSON"),
    ],
)
def test_another_file_is_refused(text, said):
    with pytest.raises(TimingError, match=said):
        calibration_of(text)


def test_linting_reads_the_file_of_a_board(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    (tmp_path / "board.json").write_text(Calibration("cortex-m4", 2, 0, 0, 0, 0.1, "net, log").text())
    options = ["layers", "a.tflite", "--isolated", "--target", "m4", "--clock", "1MHz", "--config"]
    assert main([*options, "timing=board.json"]) == 0
    assert "(calibrated with net, log)" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "board.json").write_text("no")
    assert main([*options, "timing=board.json"]) == 2
    assert capsys.readouterr().err.endswith("board.json: it is no JSON\n")
    assert main([*options, "timing=none.json"]) == 2
    assert "No such file" in capsys.readouterr().err
