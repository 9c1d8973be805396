"""What was counted in the layers of nets on every board, against what is predicted today."""

from __future__ import annotations

from math import prod
from pathlib import Path

import onnx
import pytest

from firmware_check.boards import BOARDS
from firmware_check.counted_nets import CountedLayer, read_layers, write_layers
from firmware_check.errors import FirmwareError
from firmware_check.instructions import AGREES, DISAGREES, NOT_JUDGED, LayerWork
from firmware_check.operators import refuse_unknown
from nets_table import FILE, NOT_RUN, runs_of_nets
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from support.paths import SHARED

MODELS = SHARED / "models"
TOO_LARGE = {"super_resolution_op10.onnx": {"cortex-m23", "cortex-m33", "cortex-m55"}}
"""Nets of which a layer needs more RAM than boards have."""
CPUS = {board.cpu for board in BOARDS}
CONV = KernelCall(
    "convolve_s8", Dims(1, 8, 8, 3), Dims(4, 3, 3, 3), Dims(1, 8, 8, 4), Pair(1, 1), Pair(1, 1), bias=False
)
MOVE = LayerWork(None, "reference_move", (1, 4, 8), 2, ((4, 8), (8, 1)))


@pytest.mark.parametrize(
    "work", [LayerWork(CONV, zero_outputs=3), LayerWork(CONV, by_row=True), MOVE, LayerWork(None, "reference_lookup")]
)
def test_a_layer_is_read_as_it_was_written(work: LayerWork, tmp_path: Path) -> None:
    layers = [CountedLayer("net.onnx", 0, "node", work, {"cortex-m4": 10, "cortex-m55": 4}, {"cortex-m55": -1})]
    write_layers(tmp_path / "layers", layers)
    assert read_layers(tmp_path / "layers") == layers
    assert read_layers(tmp_path / "none") == []


def test_every_layer_of_the_recorded_nets_keeps_within_the_documented_error() -> None:
    nets = runs_of_nets()
    assert len(nets) >= 20
    assert all(set(ran) <= CPUS for ran in nets.values())
    assert sum(set(ran) == CPUS for ran in nets.values()) >= 20
    judged = [
        (net, cpu, layer) for net, ran in nets.items() for cpu, layers in ran.items() for layer in layers
        if layer.verdict != NOT_JUDGED
    ]  # fmt: skip
    assert len(judged) > 3_000
    assert [(net, cpu, layer) for net, cpu, layer in judged if layer.verdict != AGREES] == []


def elements(dims: Dims) -> int:
    return prod(size or 1 for size in dims)


@pytest.mark.skipif(not MODELS.is_dir(), reason="the folder of third-party models is not there")
def test_a_net_without_a_row_is_refused_for_the_reason_that_the_page_tells() -> None:
    for name, reason in NOT_RUN.items():
        with pytest.raises(FirmwareError, match=reason.rpartition(" ")[2]):
            refuse_unknown(onnx.load(str(MODELS / name)))


def test_a_net_did_not_run_on_boards_that_have_no_room_for_one_of_its_layers() -> None:
    assert TOO_LARGE
    for name, cpus in TOO_LARGE.items():
        calls = [layer.work.call for layer in read_layers(FILE) if layer.net == name]
        needed = max(elements(call.input_dims) + elements(call.output_dims) for call in calls if call)
        assert {board.cpu for board in BOARDS if board.ram.size < needed} == cpus
        assert cpus.isdisjoint(runs_of_nets()[name])


def test_the_sum_of_a_net_is_nearer_than_its_layers() -> None:
    """To 5 % beside 500 instructions for each layer."""
    cases = [*runs_of_nets().items()]
    assert cases
    for net, ran in cases:
        for cpu, layers in ran.items():
            known = [layer for layer in layers if layer.predicted]
            least, most = (sum(layer.predicted[end] for layer in known if layer.predicted) for end in (0, 1))
            tiny, counted = 500 * len(known), sum(layer.counted for layer in known)
            assert 0.95 * least - tiny <= counted <= 1.05 * most + tiny, (net, cpu)


def test_a_layer_that_takes_a_fifth_more_than_it_did_would_disagree() -> None:
    """Else the table could not fail."""
    caught = 0
    for layer in read_layers(FILE):
        verdict = layer.on("cortex-m4")
        if verdict.verdict == AGREES and verdict.predicted and 50_000 < verdict.predicted[0] == verdict.predicted[1]:
            more = layer._replace(counted={"cortex-m4": verdict.counted * 6 // 5})
            assert more.on("cortex-m4").verdict == DISAGREES, layer.label
            caught += 1
    assert caught > 100
