"""Text in 80 columns: tables stay within them, lists break between their names, equal causes are told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.output.wrapping import wrapped
from support.linter import linted
from support.paths import SHARED
from support.tflite_models import tensor
from support.tflite_writer import operator_code, write

NAMES = [f"cortex_m::quantized_operator_{number}.out" for number in range(9)]


def test_a_list_without_spaces_breaks_between_its_names_alone() -> None:
    text = wrapped(f"OPS={','.join(NAMES)}", 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text for name in NAMES)
    assert text.replace("\n    ", "") == f"OPS={','.join(NAMES)}"
    assert wrapped(f"{'x' * 70} takes 1,234,567 bytes", 84).endswith("\n    1,234,567 bytes")


OPTION = "converter._experimental_disable_per_channel_quantization_for_dense_layers"
"""What people paste into a converter."""


@pytest.mark.parametrize("indent", [4, 8])
def test_what_people_paste_is_not_broken(indent: int) -> None:
    text = wrapped(f"{' ' * indent}Quantize dense layers per tensor (TensorFlow: {OPTION} = True).", 80, indent)
    assert OPTION in text
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, wrapped(f"a {'y' * 300} b", 80, indent).splitlines())) == 80


MODELS = [SHARED / "cases" / "users", SHARED / "models" / "tflite"]


@pytest.mark.skipif(not all(path.exists() for path in MODELS), reason="models beside the project are missing")
@pytest.mark.parametrize("options", [["-v", "--target", "m4,m55"], ["--board", "nano-33-ble", "--clock", "64MHz"]])
def test_tables_of_sums_and_of_verdicts_stay_within_80_columns(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    paths = [*MODELS[0].glob("*.tflite"), *MODELS[0].glob("*.pte"), *sorted(MODELS[1].glob("v*.tflite"))]
    main(["--isolated", *options, *map(str, paths)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2 * len(paths) > 10
    assert [line for line in lines if len(line) > 80] == []


def sums(*operands: list[int]) -> bytes:
    """A chain of ADDs with constants of these shapes."""
    tensors = [tensor("x", [1, 4, 4, 8])]
    operators = []
    for number, shape in enumerate(operands):
        tensors += [tensor(f"k{number}", shape, buffer=1), tensor(f"y{number}", [1, 4, 4, 8])]
        options = ("AddOptions", {"fused_activation_function": "NONE"})
        ends = {"inputs": [2 * number, 2 * number + 1], "outputs": [2 * number + 2]}
        operators.append({"opcode_index": 0, **ends, "builtin_options": options})
    main_graph = {"tensors": tensors, "inputs": [0], "outputs": [2 * len(operands)], "operators": operators}
    buffers = [{}, {"data": [1] * 32}]
    codes = [operator_code("ADD")]
    return write({"version": 3, "operator_codes": codes, "subgraphs": [main_graph], "buffers": buffers})


def test_operators_with_one_cause_are_one_finding_whatever_their_sizes_are(tmp_path: Path) -> None:
    from onnxlint_cmsis import lint

    path = tmp_path / "a.tflite"
    path.write_bytes(sums([1, 1, 1, 8], [1, 4, 1, 8], [1, 1, 4, 8]))
    alone = [finding for finding in linted(path, targets=["cortex-m4"]).findings if finding.cause == "broadcast"]
    assert [finding.location.node for finding in alone] == ["ADD#0", "ADD#1", "ADD#2"]
    (told,) = [finding for finding in lint(path, targets=["cortex-m4"]).findings if finding.cause == "broadcast"]
    assert [finding.location.node for finding in told.others] == ["ADD#1", "ADD#2"]
    assert told.message.endswith("The same holds for 'ADD#1', 'ADD#2'.")
