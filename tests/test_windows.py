"""The command without what Windows has not: POSIX modules, calls and signals, UTF-8 as the default, forward slashes.

On Linux these are taken away; elsewhere the same tests run on what the system has.
"""

from __future__ import annotations

import json
import ntpath
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath, PureWindowsPath
from types import SimpleNamespace

import pytest

from onnxlint_cmsis.cli import versions
from onnxlint_cmsis.config import baseline, path_patterns
from onnxlint_cmsis.config.path_patterns import Glob
from onnxlint_cmsis.output import sarif, shown_paths
from support.fixable_models import gaining, hazardous
from support.paths import ROOT
from support.tflite_steps import as_converted

NO_POSIX = Path(__file__).parent / "data" / "no_posix"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models of both formats; one has a name that the code pages of Windows have, and ASCII has not."""
    (tmp_path / "häufig.onnx").write_bytes(gaining())
    (tmp_path / "hazard.onnx").write_bytes(hazardous())
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command with the text encoding of Windows, on Linux without POSIX."""
    folders = [NO_POSIX, ROOT] if sys.platform == "linux" else [ROOT]
    taken = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONIOENCODING": "cp1252"}
    plain = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "0", "PYTHONWARNDEFAULTENCODING": "1"}
    command = [sys.executable, "-m", "onnxlint_cmsis", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **taken, **plain}, capture_output=True, encoding="cp1252", check=False
    )


@pytest.mark.skipif(sys.platform != "linux", reason="takes POSIX away from a Python on Linux")
def test_posix_is_gone() -> None:
    code = "import os, signal, sys; print(hasattr(os, 'fork'), hasattr(signal, 'SIGHUP'), sys.platform)"
    env = {**os.environ, "PYTHONPATH": str(NO_POSIX)}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert said == "False False win32\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--target", "cortex-m55", "--jobs", "2"], 1),
        (["--target", "cortex-m55", "--output-format", "sarif", "--output-file", "r.sarif"], 1),
        (["--target", "cortex-m55", "--output-format", "junit"], 1),
        (["--target", "cortex-m55", "--write-baseline", "accepted.json"], 0),
        (["--target", "cortex-m55", "--diff"], 1),
        (["layers", "--target", "cortex-m55", "häufig.onnx"], 0),
        (["memory", "--target", "cortex-m55", "häufig.onnx"], 0),
        (["widths", "--target", "cortex-m55", "häufig.onnx"], 0),
        (["compare", "häufig.onnx", "hazard.onnx"], 0),
        (["report", "häufig.onnx", "-o", "page.html"], 0),
        (["rule", "CNN301"], 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and not value[0].startswith("-") else None,
)
def test_every_command_runs(folder: Path, arguments: list[str], code: int) -> None:
    done = ran(folder, *arguments)
    assert "internal error" not in done.stderr, done.stderr
    assert "onnxlint_cmsis" not in done.stderr, done.stderr  # an encoding that was left to the system, a traceback
    assert done.returncode == code, done.stdout + done.stderr


def test_fixes_are_written(folder: Path) -> None:
    (folder / "chain.tflite").write_bytes(as_converted(0))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = ran(folder, "--fix-only", "--target", "cortex-m55", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in folder.iterdir()} == before.keys()
    assert [name for name, data in before.items() if (folder / name).read_bytes() == data] == []


def test_a_file_that_may_not_be_written_stays_alone(folder: Path) -> None:
    report = folder / "report.json"
    report.write_text("old")
    report.chmod(0o444)
    done = ran(folder, "--target", "cortex-m55", "--output-format", "json", "--output-file", "report.json")
    assert done.returncode == 2
    assert done.stderr.lower().endswith("denied\n")
    assert report.read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["hazard.onnx", "häufig.onnx", "report.json"]


def test_a_configuration_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "onnxlint-cmsis.toml").write_bytes(b'\xef\xbb\xbftargets = ["cortex-m0"]\r\n')
    command = [sys.executable, "-m", "onnxlint_cmsis", "--show-settings", "hazard.onnx"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "onnxlint-cmsis.toml" in said.stdout, said.stderr
    (folder / "accepted.json").write_bytes(b'\xef\xbb\xbf{"version": 1, "files": {}}')
    assert baseline.read(str(folder / "accepted.json")).files == {}


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paths of Windows in the modules that take paths apart."""
    system = SimpleNamespace(
        path=ntpath, sep="\\", pardir="..", fsencode=lambda name: name.encode("utf-8", "surrogatepass")
    )
    for module in (shown_paths, path_patterns, versions, baseline):
        monkeypatch.setattr(module, "os", system)
    for module in (shown_paths, path_patterns, sarif):
        monkeypatch.setattr(module, "Path", PureWindowsPath)
    return


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("path", "uri", "base"),
    [
        ("models\\a b.onnx", "models/a%20b.onnx", None),
        ("C:\\work\\models\\kws.onnx", "models/kws.onnx", None),
        ("..\\häufig.onnx", "h%C3%A4ufig.onnx", "FILESYSTEM"),
        ("c:\\other\\kws.onnx", "other/kws.onnx", "FILESYSTEM"),
        ("D:\\zoo\\kws.onnx", "file:///D:/zoo/kws.onnx", None),
    ],
)
def test_uris_of_paths_of_windows(path: str, uri: str, base: str | None) -> None:
    location = sarif.artifact_location(path, "C:\\work")
    assert (location.uri, location.uri_base_id) == (uri, base)


@pytest.mark.usefixtures("windows")
def test_bases_of_paths_of_windows() -> None:
    assert sarif.uri_bases(["models\\kws.onnx"], "C:\\work") is None
    bases = sarif.uri_bases(["..\\kws.onnx"], "C:\\work")
    assert bases is not None
    assert bases["FILESYSTEM"].uri == "file:///C:/"
    shared = sarif.uri_bases(["..\\kws.onnx"], "\\\\server\\zoo\\work")
    assert shared is not None
    assert shared["FILESYSTEM"].uri == "file://server/zoo/"


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("models/old", "C:\\work\\models\\old\\kws.onnx", True),
        ("models\\old", "C:\\work\\models\\old\\kws.onnx", True),
        (".\\models\\*.onnx", "C:\\work\\models\\kws.onnx", True),
        ("models\\*.onnx", "C:\\work\\models\\old\\kws.onnx", False),
        ("**/old", "C:\\work\\models\\old\\kws.onnx", True),
        ("kws.onnx", "D:\\zoo\\kws.onnx", True),
        ("zoo\\kws.onnx", "D:\\zoo\\kws.onnx", False),
        ("models/*", "C:\\elsewhere\\models\\kws.onnx", False),
    ],
)
def test_patterns_of_the_configuration_on_windows(pattern: str, path: str, matches: bool) -> None:
    assert Glob(pattern, "C:\\work").matches(path) is matches


@pytest.mark.usefixtures("windows")
def test_a_drive_is_no_commit() -> None:
    missing = "Q:\\zoo\\kws.onnx"
    with versions.opened(missing) as (version,):
        assert version == versions.Version(missing, missing, missing, None)


def test_a_pattern_of_posix_may_have_backslashes() -> None:
    assert os.sep == "\\" or Glob("a\\b", "/models").matches("/models/a\\b")
    assert PurePath("/models") == PurePath("/models/")


def test_sarif_names_files_below_the_folder(folder: Path) -> None:
    ran(folder, "--target", "cortex-m55", "--output-format", "sarif", "--output-file", "r.sarif")
    run = json.loads((folder / "r.sarif").read_text(encoding="utf-8"))["runs"][0]
    assert [file["location"]["uri"] for file in run["artifacts"]] == ["hazard.onnx", "h%C3%A4ufig.onnx"]
