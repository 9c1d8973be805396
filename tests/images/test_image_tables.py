"""What images of known builds tell: every row of the tables, written as an ELF, is told as it was built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnxlint_cmsis.images.build import Build, read_build
from onnxlint_cmsis.images.facts import MAY, SURE, Fact, facts_of
from support.image_tables import image_of, tables, told
from support.paths import SHARED

TABLES = SHARED / "cases" / "images" / "tables.jsonl.gz"
ROWS = {row["name"]: row for row in tables(TABLES)} if TABLES.exists() else {}
COMMITS = {"4ab83cc3": "main", "dc64e488": "5.0.0", "01dee38e": "6.0.0"}
CORES = {"m4": "cortex-m4", "m55": "cortex-m55", "m55nomve": "cortex-m55+nomve", "v7m": "cortex-m4+nodsp"}
MAY_KEYS = {"runtime_since", "arena"}

pytestmark = pytest.mark.skipif(not ROWS, reason="the tables are not beside the project")


def _facts(row: dict[str, Any], folder: Path) -> tuple[Build, dict[str, Fact]]:
    file = folder / "app.elf"
    file.write_bytes(image_of(row))
    build = read_build(str(file))
    assert isinstance(build, Build)
    return build, {fact.key: fact for fact in facts_of(build)}


@pytest.mark.parametrize("name", ROWS)
def test_the_table_is_told(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    build, facts = _facts(row, tmp_path)
    assert facts["compilers"].value == row["comments"]
    assert build.attributes.cpu == told(row, "cpu")[0]
    arrays = sum(size for section, _, size, *_ in row["sections"] if section.endswith("_array"))
    assert facts["ram"].value == told(row, "ram_used")[0] - arrays
    assert facts["flash"].value == told(row, "flash_used")[0]
    assert {*(build.library.functions if build.library else ())} <= {name for name, *_ in row["symbols"]}
    assert (build.library is None) is (not row["functions"])
    for key, here in (("runtime", "runtime"), ("resolver", "resolver"), ("kernels", "kernels")):
        value, known = facts[here].value if here in facts else None, (told(row, key) or [None])[0]
        assert value == (known.rstrip("?") if isinstance(known, str) else known), key
    if told(row, "registered_called"):
        assert facts["operators"].value == sorted(told(row, "registered_called")[0])
    for arena in told(row, "arena"):
        assert build.memory
        assert any(seen.symbol == arena["symbol"] and seen.size == arena["size"] for seen in build.memory.arenas)
    models = [(model.symbol, model.address, model.writable) for model in build.models]
    assert models == [(model["symbol"], model["address"], model["writable"]) for model in told(row, "model")]


@pytest.mark.parametrize("name", ROWS)
def test_what_may_be_is_said_so(name: str, tmp_path: Path) -> None:
    _, facts = _facts(ROWS[name], tmp_path)
    for key, fact in facts.items():
        assert fact.evidence
        assert fact.certainty == (MAY if key in MAY_KEYS else SURE), fact


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["settings"].get("cmsis_nn")])
def test_the_build_of_the_library_is_told(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    settings = row["settings"]
    build, facts = _facts(row, tmp_path)
    assert build.cpu == CORES[settings["nn_cpu"]]
    release = settings["cmsis_nn"].removeprefix("v")
    assert build.library
    assert COMMITS.get(release, release) in build.library.releases
    assert facts["cmsis_nn_optimized"].value is (settings["nn_opt"] != "-O0")
    assert ("cmsis_nn_memcpy" in facts) is ("-fno-builtin" in settings["nn_defs"])
