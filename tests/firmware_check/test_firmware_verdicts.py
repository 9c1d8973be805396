"""One verdict: what `layers` says of each node is what firmware is made of: function, reference code, refusal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

import example_models as models
from firmware_check.errors import FirmwareError
from firmware_check.opening import Options, open_model
from firmware_check.operators_as_pairs import is_operator_format
from firmware_check.program import Step
from onnxlint_cmsis.cli.engine import layers_report
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.formats.onnx.load import load
from support import firmware_models as more
from support import paths
from support import quantized_models as quantized
from support.firmware_signatures import EverythingLibrary
from support.nightly import one_of

SHARED = paths.SHARED
FOLDERS = ("models", "cases/torch", "cases/small", "cases/device/models")
LARGEST = 2_000_000
"""Bytes of the largest float model that is quantized here."""
RELEASES = ("4.0.0", "6.0.0", "7.0.0")
WITHOUT_CALL = ("batch_matmul", "maximum", "minimum", "lstm_unidirectional")
"""Stems of entry points that this firmware has no call of."""
AS_DENSE = "computes a grouped convolution as a dense one"
"""Reason of reference code in releases whose functions know no groups."""
HELPERS = (":transpose", ":expand", ":pad")
"""Ends of the labels of layers that only move or pad operands."""


def shared_models() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((SHARED / folder).glob("*.onnx"))]


def sized(path: str) -> dict[str, tuple[int, ...]]:
    """Sizes for the inputs that a file leaves open."""
    graph = load(path)
    shapes = {name: graph.shape(name) or () for name in graph.inputs}
    return {name: tuple(size or 16 for size in shape) for name, shape in shapes.items() if None in shape}


def disagreements(path: str, release: str, folder: Path) -> Iterator[str]:
    """What `layers` and the firmware say differently of a model's nodes."""
    shapes = sized(path)
    try:
        opened = open_model(path, EverythingLibrary(release), Options(shapes), folder)  # type: ignore[arg-type]
    except FirmwareError as error:
        if "no layer that CMSIS-NN can run" not in str(error):
            pytest.skip(f"no firmware can be made of it: {str(error)[-120:]}")
        yield from _all_refused(path, shapes, release)
        return
    source = str(folder / "quantized.onnx") if opened.quantized_here else path
    steps = {step.label: step for step in opened.program.steps}
    foreign = {label: why for label, why in opened.program.foreign if not why.startswith("no layer of the firmware")}
    rows = table(source, shapes, release)
    for row in rows:
        said = _difference(row, steps.get(str(row["node"])), foreign)
        if said:
            yield f"{row['op']} {row['node']}: {said}"
    named = {row["node"] for row in rows}
    yield from (f"{label} is no row" for label in steps if label not in named and not label.endswith(HELPERS))
    outputs = set(opened.graph.outputs)
    yield from (f"{label} is no row: {why}" for label, why in foreign.items() if label not in named | outputs)


def table(path: str, shapes: dict[str, tuple[int, ...]], release: str) -> list[dict[str, object]]:
    settings = make_settings(targets=["cortex-m4"], release=release)
    return layers_report(path, replace(settings, input_shapes=shapes)).rows


def _all_refused(path: str, shapes: dict[str, tuple[int, ...]], release: str) -> Iterator[str]:
    rows = table(path, shapes, release)
    if all(row["assumed"] for row in rows):
        pytest.skip("ONNX Runtime's quantizer leaves it in float")
    for row in rows:
        if row["verdict"] == "CMSIS-NN" and not _without_call(row):
            yield f"{row['op']} {row['node']}: no layer of the firmware runs"


def _without_call(row: dict[str, object]) -> bool:
    entry = str(row["entry"])
    return entry.startswith(WITHOUT_CALL)


def _difference(row: dict[str, object], step: Step | None, foreign: dict[str, str]) -> str:
    """What is said differently of one node; a transposition is moved where a layer wants another order."""
    node, reason = str(row["node"]), row["reason"]
    as_dense = AS_DENSE in str(reason) and step is not None and step.function  # wrong, and run to be seen
    if row["verdict"] in ("no kernel", "undecided") and not as_dense:
        return "" if foreign.get(node) == reason else f"{row['verdict']} ({reason}), but {step or foreign.get(node)}"
    if row["op"] == "Transpose" and node not in foreign:
        return ""
    if _without_call(row):
        return "" if "this firmware has no call of" in foreign.get(node, "") else f"runs: {step}"
    if step is None:
        return f"{row['verdict']}, but no layer: {foreign.get(node)}"
    if row["verdict"] == "reference code" and not as_dense:
        return "" if (step.function, step.reason) == ("", reason) else f"reference code ({reason}), but {step}"
    called = step.call.entry if step.call else ""
    return "" if as_dense or (step.function and called == row["entry"]) else f"{row['entry']}, but {step}"


BUILT = {
    "residual": models.residual,
    "beside": more.beside,
    "sixteen": more.sixteen,
    "branches": more.branches,
    **quantized.MODELS,
}
"""Models made here, so that the comparison needs no file from elsewhere."""


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", BUILT)
def test_layers_and_firmware_agree_on_built_models(name: str, release: str, tmp_path: Path) -> None:
    assert list(disagreements(BUILT[name](tmp_path), release, tmp_path)) == []


@pytest.mark.parametrize("signed", [True, False], ids=["int8", "uint8"])
def test_layers_and_firmware_agree_on_operators_on_integers(signed: bool, tmp_path: Path) -> None:
    path = more.in_operator_format(more.branches(tmp_path), tmp_path, signed)
    assert is_operator_format(onnx.load(path))
    assert list(disagreements(path, "7.0.0", tmp_path)) == []


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize("path", one_of(4, shared_models()), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_layers_and_firmware_agree_on_shared_models(path: Path, tmp_path: Path) -> None:
    if path.stat().st_size > LARGEST:
        pytest.skip(f"{path.stat().st_size} bytes; up to {LARGEST} are quantized here")
    assert list(disagreements(str(path), "7.0.0", tmp_path)) == []
