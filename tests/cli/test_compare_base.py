"""`compare --base COMMIT`: every model that differs from the one in the commit, however a pull request hides it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxlint_cmsis.cli.main import main
from support.firmware_images import firmware
from support.models import text

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 4, 16, 16] x) => (float[1, 4, 16, 16] y)
    <float[{c}, 4, 3, 3] v = {{1}}, float[4, {c}, 3, 3] w = {{1}}> {{
        a = Conv<pads = [1, 1, 1, 1]>(x, v)
        y = Conv<pads = [1, 1, 1, 1]>(a, w)
    }}
"""


def model(channels: int, seed: int = 0) -> onnx.ModelProto:
    """Two convolutions with weights of that seed and that many channels between them."""
    proto = text(MODEL.format(c=channels))
    numbers = np.random.default_rng(seed)
    for tensor in proto.graph.initializer:
        values = numbers.standard_normal(tuple(tensor.dims)).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return proto


def put(path: str, channels: int = 4, seed: int = 0) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(model(channels, seed).SerializeToString())


def put_external(path: str, seed: int) -> None:
    """A model whose weights lie in `m.data` beside it."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).parent.joinpath("m.data").unlink(missing_ok=True)
    onnx.save_model(model(4, seed), path, save_as_external_data=True, location="m.data", size_threshold=0)


def git(*words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()


def commit() -> str:
    git("add", "--all")
    git("commit", "-qm", "a", "--allow-empty")
    return git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    return tmp_path


class Told:
    """What the command says as JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        options = ["--isolated", "--target", "m4", "--fail-on-increase", "instructions=2%", "--output-format", "json"]
        self.code = main(["compare", *options, *words])
        said = capsys.readouterr()
        self.err = said.err
        report = json.loads(said.out) if said.out else {}
        self.pairs = [(pair["before"].partition(":")[2], pair["after"]) for pair in report.get("compared", ())]
        self.reasons = [pair["outputs"]["reason"] for pair in report.get("compared", ())]
        self.new, self.deleted = report.get("new"), report.get("deleted")
        self.errors = report.get("errors")


def test_a_file_with_the_name_of_a_git_object_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    put("model.onnx", 4)
    base = commit()
    put("model.onnx", 8)
    shutil.copy("model.onnx", f"{base}:model.onnx")
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs) == (1, [("model.onnx", "model.onnx")])
    assert told.new == [f"{base}:model.onnx"]


@pytest.mark.parametrize("command", ["compare", "verify", "report"])
def test_a_name_that_is_a_file_and_a_git_object_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    put("model.onnx", 4)
    commit()
    put("HEAD:model.onnx", 8)
    others = ["-o", "page.html"] if command == "report" else ["model.onnx"]
    assert main([command, "--isolated", "HEAD:model.onnx", *others]) == 2
    said = "HEAD:model.onnx: it names a file, and a file of the commit HEAD too; ./HEAD:model.onnx is the file"
    assert said in capsys.readouterr().err
    assert main([command, "--isolated", "./HEAD:model.onnx", *others]) != 2
    capsys.readouterr()
    put("nothing:model.onnx", 8)  # no commit has that name
    assert main([command, "--isolated", "nothing:model.onnx", *others]) != 2


@pytest.mark.parametrize("name", ["other.onnx", "folder/other.onnx", "MODEL2.ONNX", ".hidden/other.onnx"])
def test_a_model_that_is_renamed_and_changed_is_compared(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    put("model.onnx", 64)
    base = commit()
    proto = model(64)
    proto.graph.node[0].name = "changed"
    Path("model.onnx").unlink()
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(proto.SerializeToString())
    commit()
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs, told.new, told.deleted) == (0, [("model.onnx", name)], [], [])


def test_a_model_that_moved_to_another_folder_is_compared_however_it_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put("a/model.onnx", 4)
    base = commit()
    shutil.rmtree("a")
    put("b/model.onnx", 8, seed=1)
    commit()
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs) == (1, [("a/model.onnx", "b/model.onnx")])


def test_a_model_that_was_renamed_alone_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    put("model.onnx")
    base = commit()
    git("mv", "model.onnx", "other.onnx")
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs, told.new, told.deleted) == (0, [], [], [])


def test_new_and_deleted_models_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    put("old.onnx")
    base = commit()
    Path("old.onnx").unlink()
    put("new.onnx", 8, seed=1)
    put("not/added/yet.tflite")
    git("add", "new.onnx")
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs) == (0, [])
    assert (told.new, told.deleted) == (["new.onnx", "not/added/yet.tflite"], ["old.onnx"])
    assert main(["compare", "--base", base]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"new.onnx is new: {base} has no such file, nor one that was renamed"
    assert lines[-1] == "old.onnx is deleted"


def test_a_model_whose_external_data_alone_changed_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    put_external("models/m.onnx", 0)
    base = commit()
    put_external("models/m.onnx", 1)
    assert git("diff", "--name-only") == "models/m.data"
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs) == (0, [("models/m.onnx", "models/m.onnx")])
    assert told.reasons[0]
    git("checkout", "--", ".")
    assert Told(capsys, "--base", base).pairs == []


@pytest.mark.parametrize("version", ["HEAD:models/m.onnx", "HEAD:./models/m.onnx"])
def test_external_data_of_a_commit_are_read_from_it(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_external("models/m.onnx", 0)
    commit()
    assert main(["verify", version, "models/m.onnx"]) == 0
    put_external("models/m.onnx", 1)
    assert main(["verify", version, "models/m.onnx"]) == 1
    capsys.readouterr()
    assert main(["compare", "--isolated", version, "models/m.onnx"]) == 0
    assert "not known to be equal" in capsys.readouterr().out
    assert main(["verify", version, "HEAD:models/m.onnx"]) == 0
    Path("models/m.data").unlink()
    assert main(["verify", version, "HEAD:models/m.onnx"]) == 0
    assert main(["report", "--isolated", version, "-o", "page.html"]) == 0


def test_external_data_that_a_commit_has_not_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    put_external("m.onnx", 0)
    Path(".gitignore").write_text("m.data\n")
    commit()
    for command in (["verify", "HEAD:m.onnx", "m.onnx"], ["compare", "HEAD:m.onnx", "m.onnx"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert said.startswith("onnxlint-cmsis: error: HEAD:m.onnx: its external data 'm.data': ")
        assert said.count("\n") == 1


def test_models_outside_of_the_paths_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a/m.onnx", "b/m.onnx", "ab.onnx"):
        put(name, 4)
    base = commit()
    for name in ("a/m.onnx", "b/m.onnx", "ab.onnx"):
        put(name, 8)
    assert Told(capsys, "--base", base, "a").pairs == [("a/m.onnx", "a/m.onnx")]
    assert Told(capsys, "--base", base, "./b/", "ab.onnx").pairs == [("ab.onnx",) * 2, ("b/m.onnx",) * 2]
    shutil.rmtree("a")
    assert Told(capsys, "--base", base, "a").deleted == ["a/m.onnx"]
    assert "no such file or folder" in Told(capsys, "--base", base, "c").err
    assert "outside of the work tree" in Told(capsys, "--base", base, "..").err


def test_a_folder_inside_the_work_tree_is_a_place_to_stand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_external("a/b/m.onnx", 0)
    put("c.onnx")
    base = commit()
    put_external("a/b/m.onnx", 1)
    put("c.onnx", 8)
    monkeypatch.chdir("a")
    assert Told(capsys, "--base", base).pairs == [("a/b/m.onnx", "b/m.onnx")]
    assert Told(capsys, "--base", base, "../c.onnx").pairs == [("c.onnx", "../c.onnx")]


def test_two_wins_over_one(capsys: pytest.CaptureFixture[str]) -> None:
    put("a.onnx", 4)
    put("b.onnx", 4)
    base = commit()
    Path("a.onnx").write_bytes(b"no model")
    put("b.onnx", 8)
    told = Told(capsys, "--base", base)
    assert (told.code, told.pairs) == (2, [("b.onnx", "b.onnx")])
    assert told.errors[0].startswith("a.onnx: ")


def test_a_link_in_place_of_a_model_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    put("m.onnx", 4)
    put("link.onnx", 4)
    Path("to.onnx").symlink_to("m.onnx")
    base = commit()
    put("m.onnx", 8)
    Path("link.onnx").unlink()
    Path("link.onnx").symlink_to("m.onnx")
    told = Told(capsys, "--base", base)
    assert told.pairs == [("link.onnx",) * 2, ("m.onnx",) * 2, ("to.onnx",) * 2]
    assert told.code == 1


@pytest.mark.parametrize("base", ["no", "--output=x", "HEAD:m.onnx", "HEAD\n", ""])
def test_what_is_no_commit_is_one_line(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    put("m.onnx")
    commit()
    assert main(["compare", f"--base={base}"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_changed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    put("m.onnx")
    base = commit()
    assert main(["compare", "--base", base]) == 0
    assert capsys.readouterr().out == f"no model and no image changed since {base}\n"


def test_images_of_a_commit_are_compared_as_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are those that the commit has: a search takes no other, as every build makes them anew."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], check=True)

    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("app.elf").write_bytes(firmware())
    git("add", "app.elf")
    git("commit", "-qm", "image")
    assert main(["compare", "--base", "HEAD", "--fail-on-increase", "ram=0,arena=0,flash=0"]) == 0
    Path("app.elf").write_bytes(firmware(arena=3000))
    Path("new.elf").write_bytes(firmware())
    Path("app.map").write_text("Memory Configuration\n\nRAM 0x20000000 0x00010000 xrw\n")
    capsys.readouterr()
    assert main(["compare", "--base", "HEAD", "--fail-on-increase", "ram=0,arena=0,flash=0"]) == 1
    told = capsys.readouterr().out
    assert "arena" in told
    assert "new.elf" not in told
    assert main(["compare", "--base", "HEAD", "--output-format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["compared"]
    assert (row["before"], [change["key"] for change in row["changes"]]) == ("HEAD:app.elf", ["arena"])
    Path("app.elf").write_bytes(firmware()[:60])
    assert main(["compare", "--base", "HEAD"]) == 2


def test_an_elf_that_was_no_image_before_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    desktop = b"\x7fELF\x02\x01\x01" + bytes(57)
    Path("host.elf").write_bytes(desktop)
    git("add", "host.elf")
    base = commit()
    Path("host.elf").write_bytes(desktop + b"\0")
    said = Told(capsys, "--base", base)
    assert (said.code, said.pairs) == (0, [])
    assert "it is an ELF for 64 bits" in said.errors[0]
    assert f"onnxlint-cmsis: not compared: {base}:host.elf: " in said.err


def test_a_limit_of_what_an_image_does_not_tell_is_said_to_hold_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.elf").write_bytes(firmware(arena=0))
    git("add", "app.elf")
    base = commit()
    Path("app.elf").write_bytes(firmware(room=3, arena=0))
    assert main(["compare", "--base", base, "--fail-on-increase", "instructions=2%,arena=0"]) == 0
    said = capsys.readouterr()
    assert f"--fail-on-increase arena holds nothing: {base}:app.elf does not tell it" in said.err
    assert "app.elf" in said.out


@pytest.mark.parametrize(
    ("name", "limit", "says"),
    [
        ("net.onnx", "ram", "only images have it, and there is none (models: arena)"),
        ("app.elf", "instructions", "only models have it, and there is none"),
        ("net.onnx", "flash", ""),
        ("net.onnx", "arena", ""),
        ("app.elf", "ram", ""),
    ],
)
def test_a_limit_that_no_file_can_exceed_is_said_to_hold_nothing(
    name: str, limit: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_bytes(firmware() if name == "app.elf" else model(4).SerializeToString())
    base = commit()
    assert main(["compare", "--base", base, "--fail-on-increase", f"{limit}=0"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert told == (f"onnxlint-cmsis: --fail-on-increase {limit} holds nothing: {says}" if says else "")
