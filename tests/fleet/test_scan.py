"""Scanning on one machine: what is found, what is written, what goes on where it stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import onnx
import pytest

from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS
from onnxlint_cmsis.cli.engine import lint_file
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fleet.scan_rows import STATUSES, ScanRow, TargetRow
from onnxlint_cmsis.fleet.scanned_model import ScanJob, scan_model
from support.fleet_runs import kill, model, models, rows, start, statuses, wait_until
from support.models import text
from support.paths import ROOT
from support.pte_writer import PteWriter, bundle
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

pytest.importorskip("fsspec", reason="needs the extra `fleet`")
pytest.importorskip("pyarrow", reason="needs the extra `fleet`")
posix = pytest.mark.skipif(os.name != "posix", reason="needs named pipes")


def scan(*argv: object) -> int:
    return main(["scan", "--isolated", *map(str, argv)])


def test_rows_are_what_linting_finds(tmp_path):
    (path,) = models(tmp_path, 1)
    assert scan(path, "--out", tmp_path / "out") == 0
    file, *findings = rows(tmp_path / "out")
    result = lint_file(str(path), make_settings())
    assert [row["code"] for row in findings] == [finding.code for finding in result.findings] != []
    assert [row["node"] for row in findings] == [finding.location.node for finding in result.findings]
    assert {row["kind"] for row in findings} == {"finding"}
    assert (file["kind"], file["status"], file["findings"]) == ("file", "ok", len(findings))
    assert file["macs"] == result.summary.macs
    assert [row["target"] for row in file["per_target"]] == [row.target for row in result.summary.targets]
    assert [row["instructions"] for row in file["per_target"]] == [
        target.instructions for target in result.summary.targets
    ]
    assert file["size"] == path.stat().st_size
    assert {row["sha256"] for row in findings} == {file["sha256"]}


def test_without_a_folder_each_model_is_a_line_with_its_verdict(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models(tmp_path, 1)
    (tmp_path / "torn\n.tflite").write_bytes(b"no model")
    assert scan(".", "--target", "cortex-m4") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["verdict", "errors", "warnings", "model"]
    result = lint_file("m00.onnx", make_settings(targets=["cortex-m4"]))
    levels = [finding.level.name for finding in result.findings]
    cells = {line[: len(result.verdict) + 2].strip() + "|" + " ".join(line.split()[-3:]) for line in lines[:1]}
    assert cells == {f"{result.verdict}|{levels.count('ERROR')} {levels.count('WARNING')} m00.onnx"}
    assert lines[1].split(":")[0].split() == ["unreadable", r"torn\n.tflite"]
    assert len(lines) == 2
    assert head.index("errors") == max(map(len, (RUNS, WITHOUT, *WORDS.values()))) + 2


def test_programs_of_executorch_are_rows_with_their_planned_arena(tmp_path):
    """A layer planned for DSP, as a program and in a bundle: on Cortex-M55 it writes behind its scratch."""
    writer = PteWriter()
    source = writer.image(1, 64, 5, 5)
    writer.outputs.append(writer.depthwise(source, (1, 64, 5, 5), (1, 64, 5, 5), 1, 128))
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "m.pte").write_bytes(writer.data())
    (folder / "m.bpte").write_bytes(bundle(writer.data()))
    (folder / "bad.pte").write_bytes(b"no program")
    assert scan(folder, "--out", tmp_path / "out", "--target", "cortex-m55") == 0
    files = {Path(row["url"]).name: row for row in rows(tmp_path / "out") if row["kind"] == "file"}
    assert {name: row["status"] for name, row in files.items()} == {
        "bad.pte": "unreadable", "m.bpte": "ok", "m.pte": "ok",
    }  # fmt: skip
    for name in ("m.pte", "m.bpte"):
        (target,) = files[name]["per_target"]
        assert (target["arena"], target["scratch"]) == (writer.planned, 128)
    codes = {(Path(row["url"]).name, row["code"]) for row in rows(tmp_path / "out")}
    assert {("m.pte", "CNN402"), ("m.bpte", "CNN402")} <= codes


def test_scratch_that_is_not_known_is_no_number(tmp_path):
    """Nobody has measured what a kernel of an audio front end asks for."""
    custom = one_operator("CUSTOM", [tensor("x", [1, 8]), tensor("y", [1, 8])])
    custom["operator_codes"][0]["custom_code"] = "SignalRfft"
    path = tmp_path / "m.tflite"
    path.write_bytes(write(custom))
    assert scan(path, "--out", tmp_path / "out", "--target", "cortex-m4") == 0
    (row,) = rows(tmp_path / "out")[0]["per_target"]
    assert (row["scratch"], row["arena"]) == (None, None)


def test_numbers_of_more_than_64_bits_are_the_largest(tmp_path):
    """A damaged shape ended the scan: a column holds no more, and no row of the part was written."""
    path, sound = tmp_path / "m.onnx", models(tmp_path, 1)
    path.write_bytes(
        text("""
            <ir_version: 8, opset_import: ["" : 13]>
            g (float[2147483647, 2147483647, 2147483647, 4] x) => (y) { y = Relu(x) }
        """).SerializeToString()
    )
    assert scan(path, *sound, "--out", tmp_path / "out") == 0
    files = {Path(row["url"]).name: row for row in rows(tmp_path / "out") if row["kind"] == "file"}
    assert files["m.onnx"]["arena_at_least"] == 2**63 - 1
    assert [row["status"] for row in files.values()] == ["ok", "ok"]


def test_a_chain_of_urls_goes_into_an_archive(tmp_path):
    paths = models(tmp_path, 2)
    with zipfile.ZipFile(tmp_path / "zoo.zip", "w") as archive:
        for path in paths:
            archive.write(path, path.name)
            path.unlink()
    for index, (url, number) in enumerate((("zip://*.onnx::", 2), ("zip://m00.onnx::file://", 1))):
        out = tmp_path / f"out{index}"
        assert scan(f"{url}{tmp_path / 'zoo.zip'}", "--out", out) == 0
        assert [row["status"] for row in rows(out) if row["kind"] == "file"] == ["ok"] * number


def test_a_clock_gives_each_target_a_range(tmp_path):
    (path,) = models(tmp_path, 1)
    assert scan(path, "--out", tmp_path / "out", "--target", "cortex-m4,cortex-m3", "--clock", "1MHz") == 0
    timed, untimed = rows(tmp_path / "out")[0]["per_target"]
    assert timed["ms_at_least"] < 1.45 * timed["instructions"] / 1000 < timed["ms_at_most"]
    assert (untimed["ms_at_least"], untimed["ms_at_most"]) == (None, None)


def test_folders_patterns_and_urls_give_each_model_once(tmp_path, capsys, told):
    models(tmp_path, 2)
    for folder in (".git", "venv", "inner"):
        (tmp_path / folder).mkdir()
        models(tmp_path / folder, 1)[0].rename(tmp_path / folder / f"in_{folder.strip('.')}.onnx")
    (tmp_path / "notes.txt").write_text("no model")
    (tmp_path / "empty").mkdir()
    given = (tmp_path, f"file://{tmp_path}/m*", tmp_path / "m00.onnx", tmp_path / "empty")
    assert scan(*given, "--out", tmp_path / "out") == 0
    assert statuses(tmp_path / "out") == {"in_inner.onnx": "ok", "m00.onnx": "ok", "m01.onnx": "ok"}
    told(capsys.readouterr().err)


@pytest.mark.skipif(sys.platform != "linux", reason="only a forked process has what its parent holds in memory")
def test_models_and_output_may_be_anywhere():
    import fsspec
    from pyarrow import parquet

    memory = fsspec.filesystem("memory")
    memory.pipe({"/fleet/a.onnx": model(), "/fleet/deep/b.onnx": model(12)})
    assert scan("memory://fleet", "--out", "memory://found", "--jobs", "2") == 0
    (part,) = memory.ls("/found", detail=False)
    with memory.open(part) as file:
        written = parquet.read_table(file).to_pylist()
    assert {row["url"].partition("://")[2].strip("/") for row in written} == {"fleet/a.onnx", "fleet/deep/b.onnx"}
    assert {row["status"] for row in written} == {"ok"}


def test_what_cannot_be_read_is_a_row_that_says_why(tmp_path, told):
    (tmp_path / "text.onnx").write_text("no model at all")
    (tmp_path / "text.tflite").write_text("no model either")
    given = (tmp_path / "text.onnx", tmp_path / "text.tflite", tmp_path / "gone.onnx")
    assert scan(*given, "--out", tmp_path / "out") == 0
    by_name = {row["url"].rpartition("/")[2]: row for row in rows(tmp_path / "out") if row["kind"] == "file"}
    assert {row["status"] for row in by_name.values()} == {"unreadable"}
    assert by_name["gone.onnx"]["message"] == "cannot be read: No such file or directory"
    told(by_name["text.onnx"]["message"])
    told(by_name["text.tflite"]["message"])
    assert by_name["gone.onnx"]["sha256"] is None


def test_external_data_are_not_fetched_and_not_called_missing(tmp_path):
    saved = onnx.load_from_string(model(64))
    onnx.save(saved, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert scan(tmp_path, "--out", tmp_path / "out") == 0
    assert statuses(tmp_path / "out") == {"m.onnx": "external"}
    assert "CNN006" not in {row["code"] for row in rows(tmp_path / "out")}


def test_what_is_done_is_not_done_again(tmp_path, capsys, told):
    out = tmp_path / "out"
    paths = models(tmp_path, 3)
    assert scan(*paths[:2], "--out", out, "--batch", "1") == 0
    assert len(list(out.iterdir())) == 2
    assert scan(*paths, "--out", out) == 0
    told(capsys.readouterr().err.splitlines()[-1])
    assert statuses(out) == dict.fromkeys(("m00.onnx", "m01.onnx", "m02.onnx"), "ok")


def test_output_of_other_settings_and_other_files_are_refused(tmp_path, capsys, told):
    paths = models(tmp_path, 1)
    assert scan(*paths, "--out", tmp_path / "out") == 0
    assert scan(*paths, "--out", tmp_path / "out", "--target", "cortex-m4") == 2
    told(capsys.readouterr().err)
    assert scan(*paths, "--out", paths[0]) == 2
    told(capsys.readouterr().err)
    (tmp_path / "out" / "part-1.parquet").write_text("torn")
    assert scan(*paths, "--out", tmp_path / "out") == 2
    told(capsys.readouterr().err)


def test_without_the_extra_one_line_says_what_to_install(tmp_path, monkeypatch, capsys, told):
    monkeypatch.setattr("onnxlint_cmsis.fleet.scan_command.find_spec", lambda name: name != "pyarrow" or None)
    assert scan(tmp_path, "--out", tmp_path / "out") == 2
    told(capsys.readouterr().err)


@posix
def test_a_model_that_ends_its_process_is_a_row(tmp_path, told):
    psutil = pytest.importorskip("psutil", reason="needs the extra `fleet`")
    out = tmp_path / "out"
    os.mkfifo(tmp_path / "stuck.onnx")  # reading it takes until somebody writes
    done = start(tmp_path / "stuck.onnx", *models(tmp_path, 4), "--out", out, "--jobs", "2", "--batch", "1")
    wait_until(lambda: len(statuses(out)) == 4, "the other models")
    for child in psutil.Process(done.pid).children():
        kill(child.pid)
    told(done.communicate()[1])
    (row,) = (row for row in rows(out) if row["status"] == "crashed")
    told(row["message"])
    assert row["url"] == f"file://{tmp_path}/stuck.onnx"


@posix
def test_an_interrupted_scan_goes_on_where_it_stopped(tmp_path, told):
    out, stuck = tmp_path / "out", tmp_path / "stuck.onnx"
    paths = models(tmp_path, 3)
    os.mkfifo(stuck)
    first = start(*paths[:2], stuck, paths[2], "--out", out, "--batch", "1")
    wait_until(lambda: len(statuses(out)) == 2, "the first two models")
    first.send_signal(signal.SIGTERM)
    first.communicate()
    assert first.returncode == 128 + signal.SIGTERM
    stuck.unlink()
    stuck.write_bytes(model(40))
    second = start(*paths, stuck, "--out", out)
    told(second.communicate()[1])
    assert set(statuses(out).values()) == {"ok"}


def test_the_docs_name_every_column_with_its_type():
    from onnxlint_cmsis.fleet.scan_output import schema

    page = (ROOT / "docs" / "scan.md").read_text()
    named = {}
    for line in re.findall(r"^\* (`.+?):", page, flags=re.MULTILINE):
        for names, kind in re.findall(r"((?:`\w+`(?:, )?)+)(?: \(([\w ]+)\))?", line):
            named |= dict.fromkeys(re.findall(r"\w+", names), "string" if kind == "strings" else kind or "int64")
    columns = schema()
    types = {"targets": "list of string", "per_target": "list of struct"}
    inner = {field.name: str(field.type) for field in columns.field("per_target").type.value_type}
    outer = {field.name: types.get(field.name, str(field.type)) for field in columns}
    assert tuple(outer) == ScanRow._fields
    assert tuple(inner) == TargetRow._fields
    assert named.items() >= (inner | outer).items()
    assert all(f"* `{status}`: {text}" in " ".join(page.split()) for status, text in STATUSES.items())


def test_a_url_is_read_up_to_a_size(monkeypatch):
    import fsspec

    data = model()
    fsspec.filesystem("memory").pipe("/large.onnx", data)
    job = ScanJob("memory://large.onnx", make_settings())
    monkeypatch.setattr("onnxlint_cmsis.fleet.scanned_model.MODEL", len(data))
    assert scan_model(job)[0].status == "ok"
    monkeypatch.setattr("onnxlint_cmsis.fleet.scanned_model.MODEL", len(data) - 1)
    (row,) = scan_model(job)
    assert row.status == "unreadable"
    assert f"{len(data) - 1} bytes" in row.message


@posix
def test_names_of_every_kind_are_rows(tmp_path, capsys):
    folder = tmp_path / "models"
    folder.mkdir()
    for name in (b"a\x1b[31m|`.onnx", b"b\xff%41.onnx", b"c#d e.onnx"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(model())
    assert scan(folder, "--out", tmp_path / "out") == 0
    assert "\x1b" not in capsys.readouterr().err
    files = [row for row in rows(tmp_path / "out") if row["kind"] == "file"]
    assert {row["status"] for row in files} == {"ok"}
    names = {row["url"].rpartition("/")[2] for row in files}
    assert names == {"a\x1b[31m|`.onnx", "b\\udcff%41.onnx", "c#d e.onnx"}
    assert scan(folder, "--out", tmp_path / "out") == 0
    assert "done before: 3" in capsys.readouterr().err


def test_a_scan_on_this_machine_needs_no_dask(tmp_path, told):
    (tmp_path / "a.onnx").write_bytes(model())
    code = (
        "import sys; sys.modules['distributed'] = None; from onnxlint_cmsis.cli.main import main; "
        "raise SystemExit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "scan", str(tmp_path), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    told(done.stderr.splitlines()[-1])
