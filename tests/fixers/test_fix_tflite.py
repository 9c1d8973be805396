"""--fix and --diff on `.tflite` files: random models, the command line, and the visual wake words reference."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat

import numpy as np
import pytest

from model_mutations import mutated
from onnxlint_cmsis.cli.jobs import Job, fix_one
from onnxlint_cmsis.config.files import resolve_layers
from onnxlint_cmsis.fixers.proof import litert_process
from onnxlint_cmsis.fixers.proof.litert_process import LiteRtProcess
from onnxlint_cmsis.formats.format import TFLITE
from onnxlint_cmsis.formats.tflite.read import read_tflite
from support import linter
from support.fix_command import contents, run, text
from support.goldens import check_golden
from support.paths import SHARED
from support.tflite_steps import as_converted
from support.tflite_trees import tree

VWW = SHARED / "models" / "tflite" / "vww_96_int8.tflite"
needs_shared = pytest.mark.skipif(not VWW.exists(), reason="needs models in a folder `shared` beside the project")


@pytest.mark.parametrize("seed", range(4))
def test_random_models_are_fixed_proven_and_stable(seed: int) -> None:
    rng = random.Random(seed)
    policy, align = rng.choice(["faster", "faster", "align"]), rng.choice([2, 4])
    chosen = {"fix_policy": policy, "align": align, "min_gain": 0, "targets": ["cortex-m4"]}
    data = as_converted(1000 + seed)
    fixed = linter.fixed(data, "m.tflite", **chosen)
    assert not fixed.result.failed, fixed.result.reason
    assert fixed.model is not None, fixed.result.reason
    assert fixed.result.proof is not None
    assert (fixed.result.proof.equal, fixed.result.proof.runtime) == (True, "LiteRT")
    assert fixed.result.proof.every_input or fixed.result.proof.inner > 3
    assert kept(fixed.model) == kept(data)
    assert not linter.fixed(fixed.model, "m.tflite", **chosen).result.changed


@needs_shared
@pytest.mark.parametrize("name", ["sine_float", "kws_ref_model_float32"])
def test_a_model_in_float_is_to_be_quantized_first(name: str) -> None:
    path = SHARED / "models" / "tflite" / f"{name}.tflite"
    assert linter.fixed(path.read_bytes(), path.name, targets=["cortex-m4"]).result.reason.startswith(
        "it computes in float: quantize it first"
    )


@pytest.mark.parametrize("end", ["inputs", "outputs"])
def test_a_name_that_litert_cannot_read_is_a_reason(end: str) -> None:
    """LiteRT leaves such a tensor out of its list."""
    main = read_tflite("m.tflite", as_converted(0)).subgraphs[0]
    name = main.tensors[getattr(main, end)[0]].name.encode()
    named = linter.fixed(as_converted(0).replace(name, b"\xff" * len(name)), "m.tflite", targets=["cortex-m4"])
    assert named.model is None
    assert "LiteRT" in named.result.reason
    assert "can't decode byte 0xff" in named.result.reason


def kept(data: bytes) -> list[object]:
    """What no fix changes."""
    model, content = read_tflite("m.tflite", data), tree(data)
    main = content["subgraphs"][0]
    ends = [main["tensors"][index] for index in (*main["inputs"], *main["outputs"])]
    operators = [(operator["opcodeIndex"], operator["outputs"]) for operator in main["operators"]]
    metadata = [(name, model.bytes_of(buffer)) for name, buffer in model.metadata]
    return [ends, operators, metadata, content["signatureDefs"], content["operatorCodes"], content["description"]]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.tflite").write_bytes(as_converted(0))
    return tmp_path


def test_fix_rewrites_the_file_and_finds_nothing_the_second_time(folder, told):
    model = folder / "a.tflite"
    model.chmod(0o640)
    os.link(model, folder / "other.bin")
    shown = run(folder, "--diff", "a.tflite")
    assert (shown.returncode, model.read_bytes()) == (1, as_converted(0))
    told(text(shown))
    done = run(folder, "--fix-only", "a.tflite")
    assert done.returncode == 0, text(done)
    told(text(done))
    told(" ".join(text(done).split()))
    told(" ".join(text(done).split()))
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    fixed = model.read_bytes()
    assert len(fixed) < len(as_converted(0))
    assert (folder / "other.bin").read_bytes() == as_converted(0)
    again = run(folder, "--fix-only", "--exit-non-zero-on-fix", "a.tflite")
    assert again.returncode == 0
    told(text(again))
    assert contents(folder) == {"a.tflite": fixed, "other.bin": as_converted(0)}


def test_reports_tell_of_the_fix(folder):
    done = run(folder, "--diff", "--output-format", "json", "--target", "cortex-m4", "a.tflite")
    fix = json.loads(text(done))["files"][0]["fix"]
    assert (fix["changed"], fix["written"], fix["proof"]["runtime"]) == (True, False, "LiteRT")
    assert fix["bytes"]["after"] < fix["bytes"]["before"]
    stored = {name for tensor in read_tflite("a.tflite", as_converted(0)).subgraphs[0].tensors if (name := tensor.name)}
    assert {tensor["tensor"] for tensor in fix["tensors"]} <= stored
    (artifact,) = json.loads(text(run(folder, "--fix", "--output-format", "sarif", "a.tflite")))["runs"][0]["artifacts"]
    assert artifact["roles"] == ["analysisTarget", "modified"]
    assert artifact["properties"]["fix"]["proof"]["equal"]


@pytest.mark.parametrize(("mode", "failed"), [("fix", True), ("fix-only", True), ("diff", False)])
def test_without_litert_a_line_says_so_and_nothing_changes(folder, monkeypatch, mode, failed, told):
    monkeypatch.setattr(litert_process, "find_spec", lambda _name: None)
    before, path = contents(folder), str(folder / "a.tflite")
    fix = fix_one(Job(path, resolve_layers((), TFLITE), fix=mode)).file.fix
    assert fix is not None
    assert (fix.changed, fix.failed) == (False, failed)
    told(fix.reason)
    assert contents(folder) == before


def test_damaged_files_stay_as_they_are(folder):
    rng, original = random.Random(5), as_converted(0)
    for number in range(8):
        (folder / f"m{number}.tflite").write_bytes(mutated(original, rng, "both"))
    before = contents(folder)
    done = run(folder, "--fix-only", "--output-format", "json", ".")
    assert b"Traceback" not in done.stderr
    report = json.loads(text(done))
    after = contents(folder)
    assert after.keys() == before.keys()
    written = {file["path"] for file in report["files"] if file["fix"] and file["fix"]["written"]}
    assert {name for name in after if after[name] != before[name]} == {name.removeprefix("./") for name in written}
    for file in report["files"]:
        if file["path"] in written:
            assert file["fix"]["proof"]["equal"]


@needs_shared
def test_most_weights_of_visual_wake_words_go_and_outputs_stay(tmp_path):
    """The MLPerf Tiny reference that people ship."""
    shutil.copyfile(VWW, tmp_path / "vww.tflite")
    done = run(tmp_path, "--fix-only", "--output-format", "json", "vww.tflite")
    fix = json.loads(text(done))["files"][0]["fix"]
    facts = {name: fix[name] for name in ("classes", "tensors", "macs", "bytes")}
    facts["proof"] = {name: fix["proof"][name] for name in ("equal", "runtime", "inputs", "inner", "differences")}
    check_golden("vww_fix.json", json.dumps(facts, indent=1) + "\n")
    new = (tmp_path / "vww.tflite").read_bytes()
    assert weights(new) < 0.2 * weights(VWW.read_bytes())
    assert kept(new) == kept(VWW.read_bytes())
    assert differing(VWW.read_bytes(), new, 20) == 0


def weights(data: bytes) -> int:
    """Weights of convolutions."""
    model = read_tflite("m.tflite", data)
    graph = model.subgraphs[0]
    return sum(
        len(model.bytes_of(graph.tensors[operator.inputs[1]].buffer))
        for operator in graph.operators
        if "CONV" in operator.op
    )


def differing(old: bytes, new: bytes, inputs: int) -> int:
    """On how many random inputs two models differ."""
    graph = read_tflite("m.tflite", old).subgraphs[0]
    sessions, rng = [LiteRtProcess(data) for data in (old, new)], np.random.default_rng(1)
    count = 0
    for _ in range(inputs):
        values = {index: rng.integers(-128, 128, graph.tensors[index].shape).astype(np.int8) for index in graph.inputs}
        first, other = (session.run(values, graph.outputs) for session in sessions)
        count += any(not np.array_equal(*pair) for pair in zip(first, other, strict=True))
    return count
