"""The shape of the code: which room may import which, what tests may ask, what a lint loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import size
from onnxlint_cmsis.fixers.planning.repairable import REPAIRS
from onnxlint_cmsis.fixers.proof.litert_process import MISSING
from onnxlint_cmsis.formats.format import FORMATS, Format, part
from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.lower.activation_refusals import STORED_VALUES
from onnxlint_cmsis.lower.binary import FUNCTIONS
from onnxlint_cmsis.lower.epilogue import CLAMPS, LINEAR
from onnxlint_cmsis.lower.lowering_rules import LEGACY_LOWERINGS, LOWERINGS
from onnxlint_cmsis.lower.reference_code import ARITHMETIC, CURVES
from support.goldens import entries
from support.models import one_node
from support.paths import ROOT
from support.repairable_models import convolution
from support.tflite_models import conv_model
from support.tflite_writer import write

PACKAGE = ROOT / "onnxlint_cmsis"

ROOMS = (
    "ground", "cmsis_nn", "timing", "model", "operators", "formats", "lower", "runtimes", "images", "analysis",
    "checks", "config", "fixers", "output", "cli", "fleet", "__main__",
)  # fmt: skip
"""From the ground up: a file may import from its room and from those below it."""

TWINS = ({"cmsis_nn", "model"}, {"cmsis_nn", "operators"}, {"cmsis_nn", "formats"})
"""Pairs that never meet: geometry knows nothing of CMSIS-NN, and CMSIS-NN nothing of ONNX."""


def room(path: Path) -> str:
    """Package, or module at the top level."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Rooms that a module imports, anywhere in it: in functions and for type checking too."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("onnxlint_cmsis.")}


@cache
def parsed(path: Path) -> list[ast.AST]:
    """Every node of a file."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names that a module imports, anywhere in it; `from a import b` gives `a.b`, be `b` a file or not."""
    names: set[str] = set()
    for node in parsed(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return frozenset(names)


MODULES = sorted(PACKAGE.rglob("*.py"))
FIRMWARE = sorted((ROOT / "firmware_check").rglob("*.py"))
OUTSIDE = {"firmware_check", "tests", "support", "scripts", "lab", "bench"}
"""What stands beside the package, which knows nothing of it."""


def test_no_import_runs_upward() -> None:
    assert MODULES
    for path in MODULES:
        here = room(path)
        assert here in {"__init__", *ROOMS}, f"{path} is in no room"
        assert not {name.split(".")[0] for name in imported(path)} & OUTSIDE, path
        if here == "__init__":  # it offers names of many rooms, loads them late, and no room imports it
            continue
        for there in imports(path) - {here}:
            assert ROOMS.index(there) < ROOMS.index(here), f"{path} imports {there}"
            assert {here, there} not in TWINS, f"{path} imports {there}"
    for path in FIRMWARE:
        assert not {name.split(".")[0] for name in imported(path)} & (OUTSIDE - {"firmware_check"}), path


MOST_FLOORS = 12
MOST_ROOMS = 20
MOST_ARROWS = 120


def test_the_house_is_low() -> None:
    """A room stands one floor above the highest room that it imports; an arrow is a pair of rooms with an import."""
    arrows: dict[str, set[str]] = {name: set() for name in ROOMS}
    for path in MODULES:
        if room(path) in arrows:
            arrows[room(path)] |= imports(path) - {room(path)}

    def floor(name: str) -> int:
        return 1 + max(map(floor, arrows[name]), default=0)

    floors = {name: floor(name) for name in ROOMS}
    print(floors)
    assert max(floors.values()) <= MOST_FLOORS
    assert len(arrows) <= MOST_ROOMS
    assert sum(map(len, arrows.values())) <= MOST_ARROWS


FACE = (
    "cmsis_nn.library", "cmsis_nn.apis", "cmsis_nn.releases", "cmsis_nn.targets",
    "cmsis_nn.rows", "cmsis_nn.hazard", "cmsis_nn.measured_pairs",
    "cmsis_nn.conditions", "cmsis_nn.terms", "cmsis_nn.arguments",
    "cmsis_nn.json_fields", "cmsis_nn.json_records",
)  # fmt: skip
"""Modules of cmsis_nn that other rooms import: what a call does, and the words for it; the tables lie behind."""
SCANNED_THROUGH = ("cli.api", "fleet.", "ground.")
"""What a scan imports: the public API; its command also has the options of commands."""
READ_WITH_PROTOBUF = ("formats/", "fixers/edits/", "fixers/repairs/", "fixers/proof/")
"""Where ONNX's own classes are used."""
READ_WITH_FLATBUFFERS = ("formats/", "fixers/")
"""Where the places of `.tflite` and `.pte` files are known."""
READ_BY_THE_CHECKER = {
    "formats.format", "formats.names",
    "formats.onnx.half_layers", "formats.onnx.same_versions", "formats.onnx.signatures",
    "ground.named_tuples", "model.fixed_point", "model.graph", "model.leftovers", "model.roles",
    "operators.answers", "operators.integer_functions",
    "operators.integer_windows", "operators.integers", "operators.moves", "operators.record",
    "operators.scaled_numbers", "operators.tflite_misreads", "operators.views",
}  # fmt: skip
"""What the checker trusts: the readers, the graph, and what operators are called; nothing that plans or writes."""
CHECKER = tuple(
    f"analysis/certificate/{name}.py"
    for name in ("comparison", "functions", "operands", "reading", "rounding", "sums", "table", "values")
)
MOST_LINES_OF_THE_CHECKER = 1025
"""Lines of code, without docstrings, comments, blanks and imports: a reader checks them in an afternoon."""


def test_no_import_crosses_a_border() -> None:
    names = names_of(MODULES)
    assert MODULES
    for path in MODULES:
        name, asked = path.relative_to(PACKAGE).as_posix(), imported(path)
        behind = {module.removeprefix(f"{PACKAGE.name}.") for module in files_behind(asked, names)}
        if room(path) != "cmsis_nn":
            assert {module for module in behind if module.startswith("cmsis_nn")} <= {*FACE}, path
        if room(path) == "fleet":
            commands = {"scan_command": {"cli.options", "cli.progress", "cli.terminal"}, "scan_lines": {"cli.terminal"}}
            command = commands.get(path.stem, set())
            assert all(module.startswith(SCANNED_THROUGH) or module == "ground" for module in behind - command), path
        if name in CHECKER:
            assert behind <= READ_BY_THE_CHECKER | {file.removesuffix(".py").replace("/", ".") for file in CHECKER}
        if not name.startswith(READ_WITH_PROTOBUF):
            assert not [module for module in asked if module.split(".")[0] == "onnx"], path
        if not name.startswith(READ_WITH_FLATBUFFERS):
            assert not [module for module in asked if "formats.flatbuffer" in module or ".schema." in module], path


def test_the_checker_is_short() -> None:
    texts = [(PACKAGE / name).read_text(encoding="utf-8") for name in CHECKER]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    loading = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = sum(size.size(text).code for text in texts)
    lines -= sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in loading)
    assert 0 < lines <= MOST_LINES_OF_THE_CHECKER


PUBLIC = (
    "onnxlint_cmsis", "onnxlint_cmsis.__main__",
    "onnxlint_cmsis.cli.api", "onnxlint_cmsis.cli.compare_run", "onnxlint_cmsis.cli.engine",
    "onnxlint_cmsis.cli.file_fix", "onnxlint_cmsis.cli.fix_promises", "onnxlint_cmsis.cli.jobs",
    "onnxlint_cmsis.cli.main",
)  # fmt: skip
"""The API, the command line, and what both do with a file."""
TESTS_OF_LANES = (
    "test_requantization", "test_verify_constants", "test_verify_damage", "test_verify_lanes", "test_verify_sizes",
    "test_verify_structures", "written_files",
)  # fmt: skip
TESTED_BY_ITSELF: Mapping[str, tuple[str, ...]] = {
    # What a number of the checker says of a lane, held against runtimes.
    "analysis.certificate.reading": TESTS_OF_LANES,
    "analysis.certificate.table": TESTS_OF_LANES,
    "analysis.certificate.values": TESTS_OF_LANES,
    "analysis.certificate.comparison": ("test_verify_bands",),
    # The way round a hazard that computes the same layer; no hazard of today has one.
    "checks.near_by": ("test_checks",),
    # Which files of a folder are models, folder by folder.
    "cli.discovery": ("test_cli_discover",),
    # Paths of Windows, which no other system has.
    "cli.versions": ("test_windows",),
    # How many times each loop of a kernel runs, counted for shapes of every kind.
    "cmsis_nn.cost": ("test_kb_cost",),
    "cmsis_nn.cost_records": ("test_kb_cost", "test_later_costs"),
    "cmsis_nn.layer_records": ("test_cost_error", "test_firmware_sweep", "test_kb_cost", "test_later_costs"),
    "cmsis_nn.loops.plane": ("test_kb_cost",),
    "cmsis_nn.loops.sizes": ("test_later_costs",),
    "cmsis_nn.loops.transpose_conv_s8": ("test_later_costs",),
    "cmsis_nn.loops.without_bias": ("test_later_costs",),
    # Attributes that are empty lists, which no repair writes to a sound model.
    # Every segment in every number of bands, most of which no search takes.
    "fixers.memory.channel_tiles": ("test_fix_bands", "test_level_bands"),
    "fixers.memory.drafts": ("test_fix_bands",),
    "fixers.memory.band_segments": ("test_fix_bands",),
    "fixers.memory.tiled_file": ("test_fix_bands", "test_level_bands"),
    # Sizes of bands, of which a search takes some.
    "fixers.memory.level_bands": ("test_level_bands",),
    # Which sizes may take longer, asked with and without a known memory.
    "fixers.planning.memory_bound": ("test_memory_bound",),
    # Layers that can be computed in groups of channels.
    "fixers.memory.segments": ("test_fix_tiles", "test_level_bands"),
    # The inputs that a proof draws.
    "fixers.proof.inputs": ("fix_rounding", "test_fix_damaged", "test_proof_verify"),
    # LiteRT's kernels themselves, which the checker's numbers are held against.
    "fixers.proof.litert": ("litert_outputs", "test_verify_lanes"),
    # Addresses of vendors' memories, row by row.
    "images.placement": ("test_placement",),
    # A scan is a program by itself.
    "fleet.scan_output": ("test_scan",),
    "fleet.scan_rows": ("test_scan",),
    "fleet.scanned_model": ("test_scan",),
    # Units and words that people write.
    "checks.quantizer_advice": ("test_brief_advice", "test_quantization_rules"),
    "config.byte_sizes": ("test_cli_config",),
    "config.clocks": ("test_predicted_time",),
    # Programs that a test writes field by field.
    "formats.pte.bundle": ("pte_writer",),
    "formats.pte.fields": ("pte_writer", "test_pte_flatc"),
    "formats.pte.program": ("test_pte_flatc", "test_pte_read"),
    # How a file's bytes are read, which no other room does.
    "formats.onnx.strip": ("test_read_wire",),
    "formats.onnx.wire": ("test_read_files", "test_read_wire"),
    # The tables that tests run over row by row, or write files by.
    "formats.flatbuffer_schema": ("test_tflite_edit", "test_verify_unread_tflite", "tflite_writer"),
    "formats.onnx.attributes": ("test_signatures",),
    "formats.onnx.names": ("operator_records", "test_operators_records"),
    "formats.tflite.result_sizes": ("test_result_sizes",),
    "formats.tflite.names": ("operator_records", "test_operators_records", "test_result_sizes"),
    # How often a node is looked at, which no output tells.
    "fixers.planning.fits.mean_pool": ("test_mean_pool",),
    # What is lowered, and by what.
    "lower.binary": ("test_structure",),
    "lower.lowering_rules": ("test_structure",),
    # The tables of kernels, which tests run over row by row.
    "runtimes.tflm.operator_conditions": ("test_tflm_reference_kernels",),
    "runtimes.tflm.custom_operators": ("test_revision_days", "test_tflm_memory", "test_tflm_rows"),
    "runtimes.tflm.reference_checks": (
        "test_cli_causes", "test_operators_records", "test_revision_days", "test_tflm_memory",
        "test_tflm_reference_kernels", "test_tflm_versions",
    ),
    "runtimes.tflm.broken_conditions": ("test_tflm_reference_kernels",),
    "runtimes.tflm.sizes": ("test_cli_causes",),
    "runtimes.host.difference": ("test_verify_bias",),
    "runtimes.host.layer": ("test_verify_bias",),
    "runtimes.layer_facts": ("test_runtime_conditions",),
    "runtimes.tflm.kernels": (
        "test_cli_causes", "test_operators_records", "test_revision_days", "test_tflm_memory",
        "test_tflm_reference_kernels", "test_tflm_versions",
    ),
    "runtimes.tflm.lifetimes": ("test_tflm_memory",),
    "runtimes.tflm.operator_view": ("test_tflm_reference_cost",),
    "runtimes.tflm.resource_variables": ("test_tflm_memory",),
    "runtimes.tflm.structures": ("test_tflm_memory",),
    "runtimes.tflm.versions": ("test_tflm_versions",),
    "runtimes.tvm": ("test_runtime_conditions",),
    # What is refused of an operator before conversion, and the days on which a revision began.
    "runtimes.tflm.layers": ("test_tflm_reference_kernels",),
    "runtimes.tflm.revisions": ("test_tflm_memory", "test_tflm_reference_cost", "test_tflm_reference_kernels"),
    # Steps of planning, editing and proving, each with its own cases.
    "fixers.attempt": ("test_fix_whole", "test_model_cost"),
    "fixers.rescaling": ("test_fix_whole",),
    "fixers.edits.onnx_edit": ("test_fix_damaged",),
    "fixers.proof.bounds": ("test_proof_bounds",),
    "fixers.proof.branches": ("fix_rounding",),
    "fixers.proof.compare": ("test_proof_verify", "test_repairs"),
    "fixers.proof.disproved": ("proofs",),
    "fixers.proof.element_map": ("test_proof_tflite", "test_proof_verify", "tflite_plans"),
    "fixers.proof.inner": ("test_proof_verify",),
    "fixers.proof.onnx_model": ("test_proof_verify",),
    "fixers.proof.runner": ("test_proof_verify",),
    "fixers.planning.fits.useless_pairs": ("test_repairs",),
    "fixers.planning.layouts": ("test_rewrite_resize",),
    "fixers.planning.uses": ("dims_graphs", "test_rewrite_resize"),
    "fixers.planning.elimination": ("test_planning_solve",),
    "fixers.planning.decision": ("test_planning_decide", "test_planning_prices"),
    "fixers.planning.descent": ("test_planning_solve",),
    "fixers.planning.factors": ("test_planning_prices",),
    "fixers.planning.locked": ("test_planning_decide",),
    "fixers.planning.measures": ("test_planning_solve",),
    "fixers.planning.plan": (
        "dims_graphs", "fix_graphs", "fix_random", "lanes_checks", "linter", "test_dims_new_lanes_property",
        "test_proof_verify", "test_rewrite_resize", "test_staircase", "tflite_plans",
    ),
    "fixers.planning.problem": ("test_planning_prices", "test_planning_solve", "test_search_ends"),
    "fixers.planning.sites": ("test_tflite_sizes",),
    "fixers.planning.solve": ("test_planning_solve",),
    # Parts of an analysis, each with its own cases.
    "analysis.demand": ("fix_rounding", "lanes_checks"),
    "analysis.known_lanes": ("fix_rounding", "lanes_checks"),
    "analysis.layer_order": ("test_ram_remedies",),
    "analysis.ram_remedies": ("test_ram_remedies",),
    "analysis.risks": ("dims_graphs", "test_dims_new_lanes", "test_verdict"),
    # Parts of an operator's record, each with its own cases.
    "operators.interval_arithmetic": ("test_dims_new_lanes", "test_operators_values"),
}  # fmt: skip
"""Modules behind the faces, each with the tests that ask it all the same, by name: the cases of an algorithm, and the
rows of a table, cannot be told apart from outside. They only become fewer."""


def test_tests_ask_the_faces_of_rooms() -> None:
    """Tests ask the API, the command line, and the modules of a room that another room imports."""
    names = names_of([*MODULES, *FIRMWARE])
    rooms = {name: name.removeprefix(f"{PACKAGE.name}.").partition(".")[0] for name in names}
    faces = {
        behind
        for name, path in names.items()
        for behind in files_behind(imported(path), names)
        if rooms[behind] != rooms[name]
    }
    asked: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in files_behind(imported(path), names) - faces - {*PUBLIC}:
            if name.startswith(PACKAGE.name):
                asked.setdefault(name.removeprefix(f"{PACKAGE.name}."), set()).add(path.stem)
    assert faces and asked
    beyond = {name: more for name, tests in asked.items() if (more := tests - {*TESTED_BY_ITSELF.get(name, ())})}
    assert beyond == {}, "ask the face of the room"


def test_only_formats_know_how_files_are_named_and_marked() -> None:
    for path in [*MODULES, *FIRMWARE]:
        if not path.relative_to(ROOT).as_posix().startswith("onnxlint_cmsis/formats/"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"is_tflite|[\"']\.(onnx|tflite|b?pte)[\"']|b\"(TFL3|ET12|BP08)\"", text), path


WORDS_OF_FILES = (
    "formats/", "operators/", "model/graph.py", "fixers/edits/onnx_", "runtimes/tflm/reference_cost.py",
    "runtimes/host/", *CHECKER,
)  # fmt: skip
"""Where operators are told by what files call them; all else knows them by one name, and shows what stands in files."""
WRITTEN = (
    r"op_type( (not )?in\b| [!=]=|\.\w+\()|(\w\[|\bget\()[^])\n]*op_type|\bis_op\(|model\.graph import[^\n]*TFLITE"
)
ASKED = r'(?:canonical\(\w+\)|(?<!for )\bname) (?:not in|in|==|!=) (\([^)]*\)|"\w+")'


def test_operators_are_asked_by_one_name_whatever_their_format_calls_them() -> None:
    asked: set[str] = set()
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if not path.relative_to(PACKAGE).as_posix().startswith(WORDS_OF_FILES):
            written = re.search(WRITTEN, text)
            assert written is None, f"{path.name}: {written[0]}"
        if "import canonical" in text:
            asked |= {name for quoted in re.findall(ASKED, text) for name in re.findall(r'"(\w+)"', quoted)}
    asked |= {*LOWERINGS, *LEGACY_LOWERINGS, *FUNCTIONS, *CURVES, *ARITHMETIC, *CLAMPS, *LINEAR, *STORED_VALUES}
    assert len(asked) > 30
    assert {name for name in asked if operator_named("", name).canonical != name} == set()


@pytest.mark.parametrize("form", FORMATS, ids=[form.name for form in FORMATS])
def test_what_a_format_names_is_there(form: Format) -> None:
    lazily = [name for name in form if isinstance(name, str) and re.fullmatch(r"[a-z_.]+:\w+", name)]
    assert lazily and all(part(name) is not None for name in lazily)
    assert callable(part(form.loads))
    assert not form.names or all(row.domain == form.domain for row in part(form.names).values())
    assert bool(form.interpreter) == bool(form.interpretation)
    assert not form.interpretation or callable(part(form.interpretation))
    assert bool(form.fit) == bool(form.interpreter)
    assert not form.fit or callable(part(form.fit))
    assert bool(form.editor) == bool(form.prover)
    if not form.editor:
        assert form.repairs == ()
        return
    assert part(form.prover).missing() in (None, MISSING)
    every = tuple(row.name for row in REPAIRS)
    assert {*part(form.editor).repairs} == {*(every if form.repairs is None else form.repairs)} <= {*every}


def test_no_circle_between_files() -> None:
    """Each file stands after those it imports, in whatever way; a package is its `__init__.py`."""
    names = names_of([*MODULES, *FIRMWARE])
    graph = {name: files_behind(imported(path), names) - {name} for name, path in names.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def names_of(paths: Iterable[Path]) -> dict[str, Path]:
    """Dotted name of each file."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def files_behind(imports_of: frozenset[str], names: Mapping[str, Path]) -> set[str]:
    """Which of the files imported names are, or are defined in."""
    return {name if name in names else name.rpartition(".")[0] for name in imports_of} & names.keys()


SAY_NOTHING = {"one", "each", "found", "place", "made"}
"""Names of variables that do not tell what they hold."""


def written() -> list[Path]:
    """Every Python file of the project."""
    folders = ("onnxlint_cmsis", "firmware_check", "scripts", "lab", "bench", "tests")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


SEAM = re.compile(r"\n\n# [^\n]+[.:]\n\n")
"""A comment that stands alone: here one story of a file ends and the next begins. Two stories are two files."""


def test_a_file_is_one_story() -> None:
    cases = [*written()]
    assert cases
    for path in cases:
        assert not SEAM.search(path.read_text(encoding="utf-8")), f"{path} has two stories: make it two files"


def test_variables_are_named_for_what_they_hold() -> None:
    for path in written():
        for node in parsed(path):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                assert node.id not in SAY_NOTHING, f"{path}:{node.lineno}"
            elif isinstance(node, ast.arg):
                assert node.arg not in SAY_NOTHING, f"{path}:{node.lineno}"
            elif isinstance(node, ast.ExceptHandler):
                assert node.name not in SAY_NOTHING, f"{path}:{node.lineno}"


def loaded_by_lint(model: Path, *options: str) -> set[str]:
    """Modules that linting one file loads, as a process that does nothing else."""
    code = (
        "import sys; from onnxlint_cmsis.cli.main import main; main(sys.argv[1:]); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "--isolated", *options, str(model)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


SIZING = {"onnxlint_cmsis.analysis.lanes", "onnxlint_cmsis.fixers.planning.solve"}
"""What searches sizes."""
WRITING = (
    *(f"onnxlint_cmsis.fixers.{name}" for name in ("fix_model", "edits", "proof", "repairs", "rewriting")),
    *(
        f"onnxlint_cmsis.{name}"
        for name in ("analysis.fix_results", "analysis.fit", "analysis.ram_remedies", "ground.git_repository")
    ),
    *("onnxruntime", "onnx.reference", "ai_edge_litert", "sarif_om"),
)
"""What writes, repairs and proves, what a proof or another format of output needs, git, and sizes of a device."""
REPAIRING = tuple(
    f"onnxlint_cmsis.{name}."
    for name in (
        *("checks.hazard_statements", "checks.near_by", "checks.class_repairs", "runtimes.status", "config.baseline"),
        *("fixers.planning.repairable", "fixers.planning.fits", "fixers.planning.descent", "fixers.planning.plan"),
        *("fixers.steps", "cli.file_fix", "output.proofs"),
    )
)
"""What is said and done about hazards, and about what a fix did."""
PROVING = ("onnxlint_cmsis.fixers.proof", "onnxruntime")
OF_OTHERS = tuple(
    f"onnxlint_cmsis.{name}."
    for name in (
        *("cmsis_nn.float", "cmsis_nn.legacy.hazards", "cmsis_nn.legacy.routes", "lower.legacy_lowering"),
        *("formats.pte", "formats.tflite", "formats.flatbuffer_schema", "runtimes.executorch", "runtimes.tflm.kernels"),
        *("runtimes.tflm.interpret", "runtimes.tflm.arena", "runtimes.host", "cli.config_command", "output.sarif"),
        *("output.html", "output.json_report", "output.comparison", "analysis.certificate.comparison", "fleet"),
        *("runtimes.interpretation", "runtimes.memory_report", "cmsis_nn.loops.weights_s4", "cmsis_nn.loops.recurrent"),
    )
)
"""Other families of kernels, formats, runtimes, reports and commands than those of an int8 model in ONNX's format."""
OF_ONNX = ("onnx.", "google.protobuf", "onnxlint_cmsis.formats.onnx.load")


class Load(NamedTuple):
    """One run of the linter."""

    model: Callable[[], bytes]
    options: tuple[str, ...]
    loaded: set[str]
    """Modules that it needs."""
    unloaded: tuple[str, ...]
    """Beginnings of the modules that it does without."""


def small() -> bytes:
    return one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString()


def grouped() -> bytes:
    return convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2).SerializeToString()


LOADS: Mapping[str, Load] = {
    "float.onnx": Load(small, (), SIZING, WRITING),
    "qdq.onnx": Load(
        lambda: convolution((1, 8, 6, 6), (8, 8, 3, 3)).SerializeToString(),
        (), SIZING, (*WRITING, *OF_OTHERS, *REPAIRING),
    ),
    "three_targets.onnx": Load(
        lambda: convolution((1, 8, 6, 6), (8, 8, 3, 3)).SerializeToString(),
        ("--target", "cortex-m0,cortex-m4,cortex-m55"), SIZING, (*WRITING, *OF_OTHERS, *REPAIRING),
    ),
    "conv.tflite": Load(lambda: write(conv_model()), (), SIZING, (*WRITING, *OF_ONNX)),
    "without_sizes.onnx": Load(small, ("--config", "size-checks-limit=0"), set(), (*WRITING, *SIZING)),
    "rules_ignored.onnx": Load(small, ("--ignore", "CNN201,CNN202"), set(), (*SIZING,)),
    "repair_asked.onnx": Load(
        grouped, ("--config", "size-checks-limit=0"), {"onnxlint_cmsis.fixers.planning.repairable"}, WRITING
    ),
    "repair_priced.onnx": Load(grouped, (), {"onnxlint_cmsis.cli.fix_prices"}, ("onnxruntime.",)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADS)
def test_a_lint_loads_what_it_needs(tmp_path: Path, name: str) -> None:
    model, row = tmp_path / name, LOADS[name]
    model.write_bytes(row.model())
    loaded = loaded_by_lint(model, *row.options)
    assert loaded >= row.loaded
    assert not [module for module in loaded if f"{module}.".startswith(row.unloaded)]


def test_every_golden_text_is_one_that_a_test_asks() -> None:
    tests = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    goldens = [*(ROOT / "tests/golden/texts").iterdir()]
    assert goldens
    for golden in goldens:
        source = tests[f"test_{golden.stem}"]
        for entry in entries(golden):
            name = re.split(r"[\[ ]", entry)[0]
            assert re.search(rf"^def {name}\([^)]*\btold\b", source, re.MULTILINE), f"{golden}: {entry}"
