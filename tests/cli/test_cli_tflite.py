"""`.tflite` files on the command line, and the runtime of a run."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys

import pytest
import yaml

from model_mutations import mutated
from onnxlint_cmsis.cli.main import main
from support import paths
from support.models import one_node
from support.tflite_chains import Chain
from support.tflite_models import conv_model, one_operator, tensor
from support.tflite_steps import residual
from support.tflite_writer import operator_code, write


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def runs(*words):
        code = main(
            [words[0], "--isolated", *words[1:]]
            if words[0] in ("memory", "layers", "compare")
            else ["--isolated", *words]
        )
        out = capsys.readouterr()
        return code, out.out, out.err

    return runs


def broadcast(**more):
    operands = [tensor("x", [1, 4, 4, 8]), tensor("k", [8], buffer=1), tensor("sum", [1, 4, 4, 8])]
    options = ("AddOptions", {"fused_activation_function": "NONE"})
    return write(one_operator("ADD", operands, options, buffers=[{}, {"data": [1] * 8}], **more))


def test_a_finding_names_operator_tensor_and_bytes(run, tmp_path):
    (tmp_path / "a.tflite").write_bytes(broadcast())
    code, out, _ = run("--output-format", "json", "a.tflite")
    report = json.loads(out)
    (finding,) = [finding for finding in report["findings"] if finding["level"] != "note"]
    assert code == 1
    assert (finding["code"], finding["cause"]) == ("CNN403", "broadcast")
    assert (finding["location"]["node"], finding["location"]["tensor"]) == ("ADD#0", "sum")
    data = (tmp_path / "a.tflite").read_bytes()
    assert (
        0 < finding["location"]["offset"] < finding["location"]["offset"] + finding["location"]["length"] <= len(data)
    )
    assert [target.split(", ") for target in finding["targets"]] == [
        [f"cortex-m{cpu}", "CMSIS-NN main", "gcc"] for cpu in (0, 4, 55)
    ]


def test_folders_are_searched_for_both_formats(run, tmp_path):
    (tmp_path / "a.tflite").write_bytes(broadcast())
    (tmp_path / "b.onnx").write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    assert run("--show-files", ".")[1].split() == ["a.tflite", "b.onnx"]


def test_each_format_has_its_runtime(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(broadcast())
    shown = run("--show-settings", "a.tflite")[1]
    assert 'release = "main"  # tflm@90b983c2' in shown
    assert 'release = "7.0.0"  # default' in run("--show-settings", "a.onnx")[1]
    assert 'release = "7.0.0"  # command line' in run("--show-settings", "--release", "7.0.0", "a.tflite")[1]
    told(run("--show-settings", "--runtime", "tvm", "a.onnx")[1])


@pytest.mark.parametrize(
    ("runtime", "says"),
    [
        ("tflm@2022-11", "'2022-11' has not been reviewed; reviewed: "),
        ("tflm@", "a commit or date has to follow the @"),
        ("direct@1", "direct has no revisions"),
        ("executorch@2025-01", "ExecuTorch '2025-01' has not been reviewed; reviewed: cff6f4dd (since 2026-08-22)"),
        ("tvm@2026-01", "TVM has had no CMSIS-NN since 2024-12-10"),
        ("glow", "runtime 'glow' is not known; allowed: direct, tflm, executorch, tvm"),
    ],
)
def test_a_runtime_that_is_not_reviewed_is_refused(run, runtime, says):
    code, _, err = run("--runtime", runtime, "a.onnx")
    assert code == 2
    assert says in err


@pytest.mark.parametrize(
    "revision", ["tflm@2026-06-01", "tflm@7ca66d18", "tflm@2026-05", "tflm@2025-03", "tvm@2024-11", "executorch"]
)
def test_a_commit_or_date_names_a_revision(run, tmp_path, revision, told):
    (tmp_path / "a.onnx").write_bytes(one_node("MaxPool", [1, 8, 9, 9], {}, kernel_shape=[2, 2]).SerializeToString())
    code, out, err = run("-v", "--runtime", revision, "a.onnx")
    assert code == 0
    told(err)
    assert "Judged for " in out


def test_a_tflite_file_is_judged_where_its_layout_is_not_reviewed(run, tmp_path):
    (tmp_path / "a.tflite").write_bytes(broadcast())
    code, out, err = run("--runtime", "tflm@2025-03", "a.tflite")
    assert (code, err) == (1, "")
    assert "CNN403[broadcast]" in out


@pytest.mark.parametrize("command", ["lint", "layers"])
@pytest.mark.parametrize(("runtime", "label"), [("direct", "direct"), ("executorch", "executorch@"), ("tflm", "")])
def test_a_tflite_file_that_another_runtime_was_asked_for_says_so(run, tmp_path, command, runtime, label, told):
    (tmp_path / "a.tflite").write_bytes(broadcast())
    verbose = ["-v"] if command == "lint" else []
    _, out, err = run(command, *verbose, "--runtime", runtime, "a.tflite")
    said = " ".join(out.split())
    told(said)
    assert (f"judged for {label}" in said) == ("was asked for" in said) == bool(label)
    assert bool(err) == bool(verbose)


def test_a_tensor_of_fused_layers_has_one_short_name_everywhere(run, tmp_path):
    chain = Chain(1)
    data = start = chain.activation([1, 8, 8, 3])
    for number in range(2):
        data = residual(chain, data)
        for tensor_of, part in ((chain.operators[-2], "conv2d"), (chain.operators[-1], "add")):
            name = f"model/relu_{number}/Relu;model/{part}_{number}/BiasAdd;model/{part}_{number}/Inner1"
            chain.tensors[tensor_of["outputs"][0]]["name"] = name
    (tmp_path / "a.tflite").write_bytes(chain.model([start], [data]))
    _, text, _ = run("--target", "cortex-m4", "--ram", "500", "a.tflite")
    (alive,) = re.findall(r"Most are alive in (.*?);", " ".join(text.split()))
    names = re.findall(r"'([a-z0-9_]+)' [0-9]", alive)
    assert len(names) > 1
    _, memory, _ = run("memory", "--target", "cortex-m4", "a.tflite")
    assert {*names} <= {line.split()[0] for line in memory.splitlines() if line.strip()}
    assert {*names} & {"conv2d_0", "conv2d_1", "add_0"}
    assert "Inner1" not in text + memory


@pytest.mark.parametrize("data", [b"", b"text\n", write(conv_model())[:100], b"\x10\0\0\0TFL3" + b"\xff" * 200])
def test_what_is_no_model_is_one_finding(run, tmp_path, data, told):
    (tmp_path / "a.tflite").write_bytes(data)
    code, out, err = run("--output-format", "json", "a.tflite")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["code"], err) == (2, "CNN002", "")
    for command in ("layers", "memory"):
        code, out, err = run(command, "a.tflite")
        assert (code, out) == (2, "")
        told(err)


def test_damaged_files_end_in_findings():
    from onnxlint_cmsis.cli.engine import lint_file
    from onnxlint_cmsis.config.files import Configuration

    chance, settings = random.Random(5), Configuration(isolated=True).settings_for("a.tflite")
    models = [broadcast(), write(conv_model())]
    readable = 0
    for number in range(300):
        result = lint_file("a.tflite", settings, mutated(models[number % 2], chance, "both"))
        assert result.readable or [finding.code for finding in result.findings] in (["CNN002"], ["CNN003"])
        readable += result.readable
    assert 0 < readable < 300


def test_a_pointer_is_told_as_such(run, tmp_path):
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    (tmp_path / "a.tflite").write_text(text)
    code, out, _ = run("--output-format", "json", "a.tflite")
    assert (code, [finding["code"] for finding in json.loads(out)["findings"]]) == (2, ["CNN003"])


def test_standard_input_is_read_by_its_name(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(broadcast())))
    code, out, _ = run("--stdin-filename", "a.tflite", "--output-format", "json", "-")
    assert (code, "CNN403[broadcast]" in out) == (1, True)


def test_layers_of_a_tflite_file(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    code, out, _ = run("layers", "--target", "cortex-m4", "--output-format", "json", "a.tflite")
    (row,) = json.loads(out)["layers"]
    assert code == 0
    assert (row["index"], row["op"], row["verdict"], row["reason"]) == (0, "CONV_2D", "CMSIS-NN", "")
    assert row["functions"] == ["arm_convolve_wrapper_s8"]
    assert row["chain"][0] == "arm_convolve_wrapper_s8"
    text = run("layers", "--target", "cortex-m4", "a.tflite")[1]
    verdict, note, *_, table, application = text.split("\n\n")
    assert application.startswith("C++ of the application:\n  alignas(16) uint8_t tensor_arena[")
    assert verdict.startswith("a.tflite: RUNS on cortex-m4: ")
    told(" ".join(note.split()))
    target, head, line = table.splitlines()[:3]
    told(target)
    assert head.split()[:3] == ["layer", "kernel", "input"]
    assert line.split()[:2] == ["CONV_2D#0", row["kernel"]]
    assert row["node"] == "CONV_2D#0"


def test_an_operator_without_a_kernel_has_a_mark_and_a_reason(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    text = run("layers", "--target", "cortex-m4", "--config", "cmsis-nn-build=NONE", "a.tflite")[1]
    head = next(line for line in text.splitlines() if "layer" in line and "kernel" in line)
    row = next(line for line in text.splitlines() if "CONV_2D#0" in line)
    assert row.startswith("~  CONV_2D#0")
    assert row[head.index("kernel") :].startswith("reference code")
    told(text)
    assert "\n  CONV_2D#0: " in text


def test_an_empty_file_is_called_empty(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(b"")
    code, out, _ = run("a.tflite")
    assert code == 2
    told(out)


def test_compare_pairs_a_tflite_file_with_an_onnx_model_by_cpu(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    (tmp_path / "a.onnx").write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    options = ["--target", "cortex-m4", "a.tflite", "a.onnx"]
    told(" ".join(run("compare", *options)[1].split()))
    report = json.loads(run("compare", "--output-format", "json", *options)[1])
    figures = {
        figure["metric"]: (figure["before"], figure["after"]) for figure in report["figures"] if figure["target"]
    }
    assert len(figures) == len([figure for figure in report["figures"] if figure["target"]])
    assert None not in figures["instructions"]


def test_layers_of_an_onnx_file_have_a_column_for_the_runtime(run, tmp_path):
    (tmp_path / "a.onnx").write_bytes(one_node("MaxPool", [1, 8, 9, 9], {}, kernel_shape=[2, 2]).SerializeToString())
    assert "runtime" not in run("layers", "a.onnx")[1]
    _, out, _ = run("layers", "--runtime", "tflm", "--output-format", "json", "a.onnx")
    assert {row["runtime"] for row in json.loads(out)["layers"]} == {"CMSIS-NN"}


def test_memory_as_json_and_as_text(run, tmp_path, monkeypatch):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    code, out, _ = run("memory", "--target", "cortex-m4", "--output-format", "json", "a.tflite")
    report = json.loads(out)
    (target,) = report["targets"]
    assert (code, report["runtime"], report["cmsis_nn_build"]) == (0, "tflm@90b983c2", "SPEED")
    assert target["arena_used"] == target["head"] + target["tail"] <= target["arena_needed"]
    assert {"persistent", "scratch", "plan", "alive"} <= target.keys()
    monkeypatch.setenv("COLUMNS", "80")
    text = run("memory", "--target", "cortex-m4", "a.tflite")[1]
    assert f"arena_used {target['arena_used']:,} bytes" in " ".join(text.split())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    table = lines[
        next(index for index, line in enumerate(lines) if line.startswith("buffer ")) + 1 : lines.index(
            "C++ of the application:"
        )
        - 1
    ]
    assert [int(line.split()[-1].replace(",", "")) for line in table] == sorted(
        buffer["offset"] for buffer in target["plan"]
    )


def test_memory_says_why_there_is_none(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(write(conv_model(operator_codes=[operator_code("POW")])))
    code, out, _ = run("memory", "--target", "cortex-m4", "a.tflite")
    assert code == 1
    told(" ".join(out.split()))
    code, _, err = run("memory", "--runtime", "tvm", "a.tflite")
    says = "--runtime: memory of .tflite files is worked out for tflm, not for tvm"
    assert (code, err) == (2, f"onnxlint-cmsis: error: {says}\n")


def test_memory_of_an_onnx_model_is_that_of_its_plan(run, tmp_path, told):
    (tmp_path / "a.onnx").write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    code, out, _ = run("memory", "--target", "cortex-m4", "--output-format", "json", "a.onnx")
    (target,) = json.loads(out)["targets"]
    head = 656 + 208  # 8 * 9 * 9 and 4 * 7 * 7 bytes, each up to a multiple of 16
    assert code == 0
    told(target["basis"])
    assert [target[key] for key in ("arena_used", "head", "tail", "arena_needed")] == [head, head, 0, head]
    assert target["alive"] == [656, head]
    assert target["scratch"] == [{"subgraph": 0, "op": 0, "node": "conv", "bytes": 288}]
    assert {(row["bytes"], row["first"], row["last"]) for row in target["plan"]} == {(648, 0, 1), (196, 1, 1)}
    text = run("memory", "--runtime", "tflm", "--output-format", "json", "a.onnx")[1]
    assert {target["basis"] for target in json.loads(text)["targets"]} == {"lower bound"}


def test_memory_of_a_build_without_cmsis_nn(run, tmp_path, told):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    for build, functions in (("SPEED", ["arm_convolve_wrapper_s8"]), ("NONE", [])):
        options = ("--target", "m4", "--config", f"cmsis-nn-build={build}", "--output-format", "json", "a.tflite")
        assert json.loads(run("layers", *options)[1])["layers"][0]["functions"] == functions
        assert json.loads(run("memory", *options)[1])["cmsis_nn_build"] == build
    out = run("-v", "--config", "cmsis-nn-build=NONE", "a.tflite")[1]
    assert "reference code alone" in " ".join(out.split())
    told(out)
    assert "CNN4" not in out


def test_a_file_that_does_not_fit(run, tmp_path):
    (tmp_path / "a.tflite").write_bytes(write(conv_model()))
    options = ("--target", "m4", "--select", "CNN6", "--output-format", "json", "a.tflite")
    assert not json.loads(run("--ram", "64K", "--flash", "64K", *options)[1])["findings"]
    assert not json.loads(run(*options)[1])["findings"]
    findings = json.loads(run("--ram", "cortex-m4=512", "--flash", "256", *options)[1])["findings"]
    assert [(finding["code"], finding["level"]) for finding in findings] == [("CNN601", "error"), ("CNN602", "error")]
    memory = run("memory", "--target", "m4", "--output-format", "json", "a.tflite")[1]
    written = json.loads(memory)["targets"][0]["arena_to_write"]
    assert findings[0]["properties"]["needed"] == written
    assert findings[1]["properties"]["needed"] == (tmp_path / "a.tflite").stat().st_size
    assert "bytes of flash (structure, quantization and metadata 1,136, constants of" in findings[1]["message"]
    assert "The largest constants are those of" in findings[1]["message"]


@pytest.mark.parametrize("command", ["memory", "layers"])
def test_memory_and_layers_take_the_ram_that_their_verdict_is_about(run, tmp_path, command):
    (tmp_path / "m.tflite").write_bytes(write(conv_model()))
    argv = (command, "--target", "cortex-m4", "m.tflite")
    assert run(*argv)[1].startswith("m.tflite: RUNS on cortex-m4")
    assert run(*argv, "--ram", "100")[1].startswith("m.tflite: DOES NOT FIT on cortex-m4")


def test_an_onnx_run_loads_nothing_of_it(tmp_path):
    (tmp_path / "a.onnx").write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    names = (
        *("formats.tflite.file_model", "analysis.layers"),
        *("runtimes.tflm.interpret", "runtimes.tflm.kernels", "runtimes.judged_layers"),
    )
    unwanted = tuple(f"onnxlint_cmsis.{name}" for name in names)
    code = (
        "import sys; from onnxlint_cmsis.cli.main import main; main(sys.argv[1:]); "
        f"print([name for name in {unwanted} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--isolated", str(tmp_path / "a.onnx")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_hooks_take_both_formats():
    hooks = [*yaml.safe_load((paths.ROOT / ".pre-commit-hooks.yaml").read_text())]
    assert hooks
    for hook in hooks:
        assert re.search(hook["files"], "models/a.tflite")
        assert not re.search(hook["files"], "models/a.tflite.txt")


def test_what_is_not_looked_at_is_said(run, tmp_path, told):
    model = conv_model()
    model["subgraphs"] = [*model["subgraphs"], {**model["subgraphs"][0], "name": "train"}]
    model["signature_defs"] = [*model["signature_defs"], {"signature_key": "train", "subgraph_index": 1}]
    (tmp_path / "a.tflite").write_bytes(write(model))
    options = ("--target", "m4", "--select", "CNN005", "--output-format", "json", "a.tflite")
    (finding,) = json.loads(run(*options)[1])["findings"]
    told(finding["message"])
